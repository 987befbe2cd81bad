"""A served task in a store, without a server."""

from __future__ import annotations

import time

from rasa_react_ext.store import Database, ServedTasks, ServedTurns
from rasa_react_ext.store.served_task import Change, TurnEnd
from rasa_react_ext.store.served_turn import NewTask, NewTurn

__all__ = ["serve_a_task"]


async def serve_a_task(
    database: Database,
    task_id: str,
    *,
    conversation: str = "a2a:shop:c",
    state: str = "input-required",
    subscribed: bool = False,
) -> None:
    """A task of the caller `shop` in context `c` that has come to rest in a state.

    Args:
        database: Where.
        task_id: Its id.
        conversation: The dialogue.
        state: Where it rests.
        subscribed: Whether it has a push subscription, and so a push that is due.
    """
    new = NewTurn(
        caller="shop",
        context_id=conversation.rpartition(":")[2],
        message_id=f"m-{task_id}",
        digest="d",
        task_id=task_id,
        conversation=conversation,
        runner="r",
        lease_seconds=30,
        kept_seconds=3600,
        new_task=NewTask(state="submitted", body=b"task"),
        push=("p", "1.0", b"config") if subscribed else None,
    )
    claim = await ServedTurns(database).claim(new)
    end = TurnEnd(turn_id=claim.turn_id, runner="r", outcome=b"task", expires_at=time.time() + 3600)
    change = Change(
        task_id=task_id,
        version=1,
        state=state,
        ended=state in {"completed", "canceled"},
        seq=2,
        body=b"task",
        events=[(2, b"event")],
        pushed=[(state, b"task")],
        end=end,
    )
    assert await ServedTasks(database).record(change)
