"""Cancelling what remote agents do for a conversation, from outside of any turn."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.apply import free_frame
from rasa_react_ext.host.external.desk import Desk
from rasa_react_ext.host.external.watch import end_tasks

if TYPE_CHECKING:
    from rasa_react_ext.store import RemoteTask

__all__ = ["cancel_conversation"]


async def cancel_conversation(conversation: str, desk: Desk | None) -> int:
    """Cancel every open task of a conversation at its agent.

    Args:
        conversation: Sender id.
        desk: The assistant, so that the conversation can go on at once; without it that
            happens with the next report or look.

    Returns:
        How many tasks were stopped.
    """
    rows = await ledger.tasks().open_of(conversation)
    stopped = await asyncio.gather(*(_cancel(row, desk) for row in rows))
    return sum(stopped)


async def _cancel(row: RemoteTask, desk: Desk | None) -> int:
    count = await end_tasks([row])
    if count and desk is not None:
        await free_frame(desk, row)
    return count
