"""Tasks that remote agents do for conversations: what is open, where it stands, who says so."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.inbox import keep_body
from rasa_react_ext.store.remote_schema import inbox, remote_task
from rasa_react_ext.store.text import storable

__all__ = ["RemoteTask", "RemoteTasks"]

KEPT_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteTask:
    """One task.

    Attributes:
        key: Our name of it; part of the address at which the agent reports.
        conversation: Sender id of the conversation.
        agent: Name of the sub agent.
        task_id: The agent's name of it; empty until the agent has told it.
        context_id: The agent's context.
        background: Whether it goes on without a turn waiting for it.
        secret_hash: SHA-256 of what proves that a report comes from the agent.
        closed: Whether nothing is to be done about it any more.
        parked: Whether its outcome waits for the conversation to ask for it.
        snapshot: The task as last known, serialised; empty before the first word.
        said: What the agent said last.
        said_at: When it said so, in seconds since the epoch.
        held: Words of the user that wait for the agent, one per line.
        deadline: When it must be over, in seconds since the epoch.
        created_at: When it began.
        checked_at: When it was last heard of or looked after.
        origin: The trace of the turn in which it began, as a W3C `traceparent`.
    """

    key: str
    conversation: str
    agent: str
    task_id: str = ""
    context_id: str = ""
    background: bool = False
    secret_hash: str = ""
    closed: bool = False
    parked: bool = False
    snapshot: bytes = b""
    said: str = ""
    said_at: float | None = None
    held: str = ""
    deadline: float = 0.0
    created_at: float = 0.0
    checked_at: float = 0.0
    origin: str = ""


_FIELDS = tuple(RemoteTask.__dataclass_fields__)
_COLUMNS = [remote_task.c[name] for name in _FIELDS]


class RemoteTasks:
    """The tasks in one database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, task: RemoteTask) -> None:
        """Note a task; when this returns, the note survives a killed process."""
        now = time.time()
        values = _storable({name: getattr(task, name) for name in _FIELDS})
        values |= {"created_at": now, "checked_at": now, "claimed_by": "", "claimed_until": 0.0}
        async with self._database.transaction() as connection:
            await connection.execute(remote_task.insert().values(**values))

    async def get(self, key: str) -> RemoteTask | None:
        """A task by our name of it."""
        found = await self._select(remote_task.c.key == key)
        return found[0] if found else None

    async def find(self, name: str) -> list[RemoteTask]:
        """Tasks by our name of them or by the agent's, which two agents may share."""
        return await self._select(sa.or_(remote_task.c.key == name, remote_task.c.task_id == name))

    async def open_of(self, conversation: str) -> list[RemoteTask]:
        """What is open for a conversation, oldest first."""
        return await self._select(
            remote_task.c.conversation == conversation, remote_task.c.closed.is_(False)
        )

    async def open(self, limit: int = 1000) -> list[RemoteTask]:
        """What is open at all, oldest first."""
        return await self._select(remote_task.c.closed.is_(False), limit=limit)

    async def count_open(self) -> dict[str, int]:
        """How many are open: in the background, parked, and waiting for the user."""
        query = (
            sa.select(remote_task.c.background, remote_task.c.parked, sa.func.count())
            .where(remote_task.c.closed.is_(False))
            .group_by(remote_task.c.background, remote_task.c.parked)
        )
        counts = {"background": 0, "parked": 0, "waiting": 0}
        async with self._database.transaction() as connection:
            for background, parked, number in await connection.execute(query):
                state = "parked" if parked else "background" if background else "waiting"
                counts[state] += int(number)
        return counts

    async def unheard_since(self, moment: float, limit: int = 100) -> list[RemoteTask]:
        """Open tasks that nobody has looked after since a moment, or whose time is over.

        An agent that reports all the time is heard of and still may not go on for ever.
        """
        overdue = sa.and_(
            remote_task.c.background.is_(True),
            remote_task.c.parked.is_(False),
            remote_task.c.deadline < time.time(),
        )
        return await self._select(
            remote_task.c.closed.is_(False),
            sa.or_(remote_task.c.checked_at < moment, overdue),
            limit=limit,
        )

    async def update(self, key: str, **values: Any) -> None:
        """Change some fields of a task; it counts as looked after."""
        async with self._database.transaction() as connection:
            await connection.execute(
                remote_task.update()
                .where(remote_task.c.key == key)
                .values(checked_at=time.time(), **_storable(values))
            )

    async def close(self, key: str) -> None:
        """Nothing is to be done about this task any more; what it says from now on is refused."""
        await self.update(key, closed=True)

    async def expire(self, key: str) -> None:
        """End a task's time, so that a server gives it up at its next look, whatever it reports."""
        async with self._database.transaction() as connection:
            await connection.execute(
                remote_task.update()
                .where(remote_task.c.key == key, remote_task.c.closed.is_(False))
                .values(deadline=0.0, checked_at=0.0)
            )

    async def claim_check(self, key: str, seen_at: float) -> bool:
        """Take it upon this process to look after a task now; False if another one has."""
        async with self._database.transaction() as connection:
            result = await connection.execute(
                remote_task.update()
                .where(remote_task.c.key == key, remote_task.c.checked_at <= seen_at)
                .values(checked_at=time.time())
            )
            return result.rowcount == 1

    async def claim(self, worker: str, lease_seconds: float, limit: int) -> list[RemoteTask]:
        """Take tasks with unread reports; nobody else gets them while the lease runs."""
        now = time.time()
        waiting = sa.select(inbox.c.key).where(inbox.c.done.is_(False), inbox.c.next_at <= now)
        free = (
            sa.select(remote_task.c.key)
            .where(remote_task.c.claimed_until < now, remote_task.c.key.in_(waiting))
            .order_by(remote_task.c.checked_at)
            .limit(limit)
        )
        query = (
            remote_task.update()
            .where(remote_task.c.claimed_until < now, remote_task.c.key.in_(free))
            .values(claimed_by=worker, claimed_until=now + lease_seconds)
            .returning(*_COLUMNS)
        )
        async with self._database.transaction() as connection:
            return [_read(row) for row in await connection.execute(query)]

    async def extend(self, key: str, worker: str, lease_seconds: float) -> None:
        """Keep a task that takes longer."""
        await self._lease(key, worker, time.time() + lease_seconds)

    async def release(self, key: str, worker: str) -> None:
        """Let others have a task again."""
        await self._lease(key, worker, 0.0)

    async def _lease(self, key: str, worker: str, until: float) -> None:
        async with self._database.transaction() as connection:
            await connection.execute(
                remote_task.update()
                .where(remote_task.c.key == key, remote_task.c.claimed_by == worker)
                .values(claimed_until=until)
            )

    async def say(self, key: str, body: bytes) -> bool:
        """Put a report of our own into the inbox, as if the agent had sent it.

        Returns:
            False if the same report has been put there before.
        """
        async with self._database.transaction() as connection:
            return await keep_body(connection, key, body)

    async def forget_conversation(self, conversation: str) -> None:
        """Remove everything about one conversation."""
        keys = sa.select(remote_task.c.key).where(remote_task.c.conversation == conversation)
        async with self._database.transaction() as connection:
            await connection.execute(inbox.delete().where(inbox.c.key.in_(keys)))
            await connection.execute(
                remote_task.delete().where(remote_task.c.conversation == conversation)
            )

    async def forget_old(self, kept_seconds: float = KEPT_SECONDS) -> None:
        """Remove closed tasks and their reports after a while."""
        old = sa.and_(
            remote_task.c.closed.is_(True), remote_task.c.checked_at < time.time() - kept_seconds
        )
        keys = sa.select(remote_task.c.key).where(old)
        async with self._database.transaction() as connection:
            await connection.execute(inbox.delete().where(inbox.c.key.in_(keys)))
            await connection.execute(remote_task.delete().where(old))

    async def _select(
        self, *conditions: sa.ColumnElement[bool], limit: int = 1000
    ) -> list[RemoteTask]:
        query = (
            sa.select(*_COLUMNS).where(*conditions).order_by(remote_task.c.created_at).limit(limit)
        )
        async with self._database.transaction() as connection:
            return [_read(row) for row in await connection.execute(query)]


def _storable(values: dict[str, Any]) -> dict[str, Any]:
    """Values as every database takes them: users and agents may say anything."""
    return {
        name: storable(value) if isinstance(value, str) else value for name, value in values.items()
    }


def _read(row: sa.Row[Any]) -> RemoteTask:
    values: Sequence[Any] = tuple(row)
    return RemoteTask(**dict(zip(_FIELDS, values, strict=True)))
