"""What was given up on: reports that could not be applied, pushes that could not be delivered."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.remote_schema import inbox, remote_task
from rasa_react_ext.store.served_schema import push_outbox, task

__all__ = ["DeadLetter", "DeadLetters", "Replay"]

_INBOX = "inbox"
_OUTBOX = "outbox"


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetter:
    """One letter.

    Attributes:
        id: Its name, such as `inbox-7` or `outbox-3`.
        task: The task it is about: our key of a remote one, the id of a served one.
        conversation: Sender id; empty where the task is no longer known.
        party: The agent that reported, or the caller that subscribed.
        attempts: How often it was tried.
        error: Why it was given up on.
        since: When it came up, in seconds since the epoch.
        closed: Whether its task is over or forgotten; a report of such a task cannot be
            replayed, a push can.
    """

    id: str
    task: str
    conversation: str
    party: str
    attempts: int
    error: str
    since: float
    closed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """What became of a wish to try letters again.

    Attributes:
        queued: Ids of those that wait in their queue again.
        closed: Ids of those whose task is closed; they stay where they are.
        unknown: Wished ids that no letter has; if there are any, nothing was changed.
    """

    queued: tuple[str, ...]
    closed: tuple[str, ...]
    unknown: tuple[str, ...]


class DeadLetters:
    """The dead letters of one database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, limit: int = 1000) -> list[DeadLetter]:
        """The letters, those of the inbox first, the oldest first.

        Args:
            limit: How many of each kind at most.
        """
        async with self._database.transaction() as connection:
            return await _all(connection, limit)

    async def replay(self, ids: Collection[str] | None) -> Replay:
        """Put letters back into their queues.

        Args:
            ids: Which; None for all.
        """
        async with self._database.transaction() as connection:
            found = {letter.id: letter for letter in await _all(connection, None)}
            wished = list(found) if ids is None else list(dict.fromkeys(ids))
            unknown = tuple(name for name in wished if name not in found)
            if unknown:
                return Replay(queued=(), closed=(), unknown=unknown)
            closed = tuple(name for name in wished if _is_refused(found[name]))
            queued = tuple(name for name in wished if name not in closed)
            await _requeue(connection, queued)
        return Replay(queued=queued, closed=closed, unknown=())


async def _all(connection: AsyncConnection, limit: int | None) -> list[DeadLetter]:
    reports = (
        sa.select(
            inbox,
            remote_task.c.conversation,
            remote_task.c.agent,
            sa.func.coalesce(remote_task.c.closed, sa.true()).label("closed"),
        )
        .outerjoin(remote_task, remote_task.c.key == inbox.c.key)
        .where(inbox.c.done.is_(True), inbox.c.error != "")
        .order_by(inbox.c.seq)
        .limit(limit)
    )
    pushes = (
        sa.select(
            push_outbox,
            task.c.conversation,
            task.c.caller,
            sa.func.coalesce(task.c.ended, sa.true()).label("closed"),
        )
        .outerjoin(task, task.c.task_id == push_outbox.c.task_id)
        .where(push_outbox.c.dead.is_(True))
        .order_by(push_outbox.c.id)
        .limit(limit)
    )
    return [
        *(_report(row) for row in await connection.execute(reports)),
        *(_push(row) for row in await connection.execute(pushes)),
    ]


async def _requeue(connection: AsyncConnection, names: Collection[str]) -> None:
    now = time.time()
    parts = [name.partition("-") for name in names]
    for kind, _, number in parts:
        if kind == _INBOX:
            values: dict[str, Any] = {"done": False, "error": ""}
            change = inbox.update().where(inbox.c.seq == int(number))
        else:
            values = {"dead": False, "last_error": ""}
            change = push_outbox.update().where(push_outbox.c.id == int(number))
        await connection.execute(change.values(attempts=0, next_at=now, **values))


def _is_refused(letter: DeadLetter) -> bool:
    return letter.closed and letter.id.startswith(_INBOX)


def _report(row: Any) -> DeadLetter:
    return DeadLetter(
        id=f"{_INBOX}-{row.seq}",
        task=row.key,
        conversation=row.conversation or "",
        party=row.agent or "",
        attempts=row.attempts,
        error=row.error,
        since=row.received_at,
        closed=bool(row.closed),
    )


def _push(row: Any) -> DeadLetter:
    return DeadLetter(
        id=f"{_OUTBOX}-{row.id}",
        task=row.task_id,
        conversation=row.conversation or "",
        party=row.caller or "",
        attempts=row.attempts,
        error=row.last_error,
        since=row.created_at,
        closed=bool(row.closed),
    )
