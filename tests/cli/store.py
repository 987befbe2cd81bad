"""A store with something of everything in it, for commands that look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from rasa_react_ext.store import (
    Database,
    Inbox,
    RemoteTask,
    RemoteTasks,
    ServedPushes,
    secret_hash,
)
from rasa_react_ext.store.inbox import MAX_ATTEMPTS
from tests.store.served import serve_a_task

__all__ = ["CONVERSATION", "fill", "within"]

CONVERSATION = "a2a:shop:c"
_T = TypeVar("_T")


def within(store: Path, work: Callable[[Database], Awaitable[_T]]) -> _T:
    """What a piece of work in a store comes to."""

    async def done() -> _T:
        database = Database(str(store))
        try:
            return await work(database)
        finally:
            await database.aclose()

    return asyncio.run(done())


async def fill(database: Database) -> None:
    """A background task with a dead letter, one that waits, a served task with a dead push."""
    tasks, inbox, pushes = RemoteTasks(database), Inbox(database), ServedPushes(database)
    common = {"conversation": CONVERSATION, "agent": "broker", "secret_hash": secret_hash("s")}
    await tasks.add(RemoteTask(key="k1", task_id="at-1", background=True, **common))
    await tasks.update("k1", said="Half [done].", said_at=1.0)
    await tasks.add(RemoteTask(key="k2", task_id="at-2", **common))
    await inbox.accept("k1", "s", b"report")
    (report,) = await inbox.unread("k1")
    for _ in range(MAX_ATTEMPTS):
        await inbox.failed("k1", report.seq, "no lock")
    await serve_a_task(database, "served-1", conversation=CONVERSATION, subscribed=True)
    (push,) = await pushes.take(1, 30)
    await pushes.failed(push.push_id, "answered 500", retry_at=None)
