"""Bodies of push notifications, in every form that agents send them.

Protocol 1.0 wraps one event (`task`, `statusUpdate`, `artifactUpdate`, `message`); 0.3
sends the event itself with its `kind`; some send a bare 1.0 task, or a JSON-RPC envelope.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from a2a.compat.v0_3 import conversions
from a2a.compat.v0_3 import types as v03
from a2a.types import Message, Part, Role, StreamResponse, Task, TaskState, TaskStatus
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from pydantic import ValidationError

from rasa_react_ext.a2a_wire.clean import clean_json

__all__ = ["failed_task", "read_push", "task_body"]

_WRAPPED = ("task", "statusUpdate", "artifactUpdate", "message")
_OLDER: dict[str, tuple[Any, Callable[[Any], Any], str]] = {
    "task": (v03.Task, conversions.to_core_task, "task"),
    "status-update": (
        v03.TaskStatusUpdateEvent,
        conversions.to_core_task_status_update_event,
        "status_update",
    ),
    "artifact-update": (
        v03.TaskArtifactUpdateEvent,
        conversions.to_core_task_artifact_update_event,
        "artifact_update",
    ),
    "message": (v03.Message, conversions.to_core_message, "message"),
}


def read_push(body: str | bytes) -> StreamResponse:
    """The event in a push body.

    Raises:
        ValueError: It holds no event; the text says what was found.
    """
    try:
        return _event(clean_json(json.loads(body)))
    except (ParseError, ValidationError, RecursionError) as error:
        raise ValueError(f"the event does not follow the protocol ({error})") from error


def task_body(task: Task) -> bytes:
    """A task as the body of a report."""
    return json.dumps({"task": MessageToDict(task)}, sort_keys=True).encode()


def failed_task(task_id: str, context_id: str, reason: str) -> Task:
    """A task that has come to a bad end, as its agent would tell it."""
    message = Message(role=Role.ROLE_AGENT, parts=[Part(text=reason)])
    status = TaskStatus(state=TaskState.TASK_STATE_FAILED, message=message)
    return Task(id=task_id, context_id=context_id, status=status)


def _event(document: Any) -> StreamResponse:
    if not isinstance(document, Mapping):
        raise ValueError("the body is no JSON object")  # noqa: TRY004 - what was sent is wrong
    if "jsonrpc" in document:
        return _event(document.get("result") or document.get("params"))
    if any(key in document for key in _WRAPPED) and "kind" not in document:
        return _current(dict(document))
    if document.get("kind") in _OLDER:
        return _older(document)
    return _current(_bare(document))


def _current(document: Mapping[str, Any]) -> StreamResponse:
    response = ParseDict(dict(document), StreamResponse(), ignore_unknown_fields=True)
    if response.WhichOneof("payload") is None:
        raise ValueError(f"no event among the keys {sorted(document)}")
    return response


def _bare(document: Mapping[str, Any]) -> dict[str, Any]:
    """A 1.0 event without its wrapper, told by its keys."""
    if "artifact" in document:
        return {"artifactUpdate": dict(document)}
    if "taskId" in document and "status" in document:
        return {"statusUpdate": dict(document)}
    if "id" in document and "status" in document:
        return {"task": dict(document)}
    raise ValueError(f"no event among the keys {sorted(document)}")


def _older(document: Mapping[str, Any]) -> StreamResponse:
    model, convert, field = _OLDER[document["kind"]]
    return StreamResponse(**{field: convert(model.model_validate(document))})
