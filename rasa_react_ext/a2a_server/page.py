"""Pages of a caller's tasks: their marks, read and written."""

from __future__ import annotations

import base64
import binascii
import json
import math

from a2a.types import InvalidParamsError, ListTasksRequest, TaskState

from rasa_react_ext.a2a_wire import read_state
from rasa_react_ext.store.served_task import Page, ServedTasks, StoredTask

__all__ = ["next_token", "page_of"]

DEFAULT_SIZE = 50


async def page_of(tasks: ServedTasks, params: ListTasksRequest, caller: str) -> tuple[int, Page]:
    """The page that is asked for, and the most it may hold.

    Raises:
        InvalidParamsError: The mark of the page is none of ours.
    """
    size = params.page_size if params.HasField("page_size") else DEFAULT_SIZE
    wanted = params.status != TaskState.TASK_STATE_UNSPECIFIED
    since = None
    if params.HasField("status_timestamp_after"):
        stamp = params.status_timestamp_after
        since = stamp.seconds + stamp.nanos / 1e9
    page = await tasks.page(
        caller,
        size=size,
        before=_before(params.page_token) if params.page_token else None,
        context_id=params.context_id,
        state=read_state(params.status).value if wanted else "",
        since=since,
    )
    return size, page


def next_token(last: StoredTask) -> str:
    """The mark of the page after a task."""
    mark = json.dumps([last.updated_at, last.task_id])
    return base64.urlsafe_b64encode(mark.encode()).decode()


def _before(token: str) -> tuple[float, str]:
    try:
        changed, task_id = json.loads(base64.urlsafe_b64decode(token.encode("ascii")))
        mark = float(changed), str(task_id)
    except (binascii.Error, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidParamsError("pageToken is not one of ours") from error
    if not math.isfinite(mark[0]) or "\x00" in mark[1]:
        raise InvalidParamsError("pageToken is not one of ours")
    return mark
