"""Tasks that this assistant serves to others: one row each, changed by compare-and-set.

A task that has ended is never changed again. Each change, its events, the pushes it
causes and the end of the turn that made it are one transaction.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.served_schema import context, event, push_config, push_outbox, task, turn

__all__ = ["Change", "Page", "ServedTasks", "StoredTask", "TurnEnd", "insert_events"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """A task as stored.

    Attributes:
        task_id: Its id.
        caller: Who it belongs to.
        context_id: The caller's context.
        conversation: Id of the dialogue it stands for.
        state: Name of its state.
        ended: Whether it takes no further change.
        version: Counts the changes.
        seq: Number of its last event.
        body: The whole task, as the protocol layer wrote it.
        cancelling: Whether somebody asked to cancel it.
        updated_at: Seconds since the epoch.
    """

    task_id: str
    caller: str
    context_id: str
    conversation: str
    state: str
    ended: bool
    version: int
    seq: int
    body: bytes
    cancelling: bool
    updated_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """The end of a turn, stored with the change it makes.

    Attributes:
        turn_id: The turn.
        runner: Who ran it; empty where its lease has run out and another ends it.
        outcome: What a repeated request is answered with.
        expires_at: Until when, in seconds since the epoch.
    """

    turn_id: int
    runner: str
    outcome: bytes
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a task.

    Attributes:
        task_id: The task.
        version: The version it was read at.
        state: Name of its new state.
        ended: Whether that is an end.
        seq: Number of its last event now.
        body: The whole task now.
        events: New events by number.
        pushed: States, and the whole task in each, that subscribers by push hear of.
        end: The end of the turn that made it, if it ends here.
    """

    task_id: str
    version: int
    state: str
    ended: bool
    seq: int
    body: bytes
    events: Sequence[tuple[int, bytes]]
    pushed: Sequence[tuple[str, bytes]]
    end: TurnEnd | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some tasks of a caller, the latest first.

    Attributes:
        tasks: The tasks.
        total: How many there are in all.
        more: Whether others follow.
    """

    tasks: list[StoredTask]
    total: int
    more: bool


class ServedTasks:
    """The tasks in one database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, task_id: str, caller: str | None = None) -> StoredTask | None:
        """A task; None if there is none, or it is another caller's.

        Args:
            task_id: Its id.
            caller: Whose it must be; None where the asker is this server itself.
        """
        query = _select().where(task.c.task_id == task_id)
        if caller is not None:
            query = query.where(task.c.caller == caller)
        async with self._database.transaction() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _stored(row)

    async def record(self, change: Change) -> bool:
        """Store a change; False if the task or its turn was changed by another since."""
        async with self._database.transaction() as connection:
            if change.ended:
                # First, in the order in which a claim locks them too.
                await connection.execute(_RELEASE, {"of_task": change.task_id})
            pushes = (await connection.execute(_ADVANCE, _advanced(change))).one_or_none()
            if pushes is None or not await _end_turn(connection, change.end):
                await connection.rollback()
                return False
            await insert_events(connection, change.task_id, change.events)
            if pushes.push:
                for state, body in change.pushed:
                    await connection.execute(_outbox(change.task_id, state, body))
        return True

    async def request_cancel(self, task_id: str) -> None:
        """Ask whoever runs a task to cancel it."""
        async with self._database.transaction() as connection:
            await connection.execute(
                task.update()
                .where(task.c.task_id == task_id, task.c.cancel_requested_at.is_(None))
                .values(cancel_requested_at=time.time())
            )

    async def open(self, limit: int) -> list[StoredTask]:
        """Tasks that have not ended, of all callers; the first changed first."""
        query = _select().where(task.c.ended.is_(False)).order_by(task.c.updated_at).limit(limit)
        async with self._database.transaction() as connection:
            return [_stored(row) for row in await connection.execute(query)]

    async def unheeded_cancels(self) -> list[StoredTask]:
        """Open tasks that somebody asked to cancel and that no turn is running of."""
        busy = sa.select(turn.c.task_id).where(turn.c.status == "open")
        query = _select().where(
            task.c.ended.is_(False),
            task.c.cancel_requested_at.is_not(None),
            task.c.task_id.not_in(busy),
        )
        async with self._database.transaction() as connection:
            return [_stored(row) for row in await connection.execute(query.limit(100))]

    async def events(self, task_id: str, after: int) -> list[tuple[int, bytes]]:
        """Events with a number above `after`, in order."""
        query = (
            sa.select(event.c.seq, event.c.payload)
            .where(event.c.task_id == task_id, event.c.seq > after)
            .order_by(event.c.seq)
        )
        async with self._database.transaction() as connection:
            return [(row.seq, row.payload) for row in await connection.execute(query)]

    async def page(
        self,
        caller: str,
        *,
        size: int,
        before: tuple[float, str] | None = None,
        context_id: str = "",
        state: str = "",
        since: float | None = None,
    ) -> Page:
        """Tasks of one caller, the last changed first.

        Args:
            caller: Whose tasks.
            size: How many at most.
            before: Change time and id of the last task of the page before.
            context_id: Only those of this context.
            state: Only those in this state.
            since: Only those changed at or after this time.
        """
        conditions = [task.c.caller == caller]
        if context_id:
            conditions.append(task.c.context_id == context_id)
        if state:
            conditions.append(task.c.state == state)
        if since is not None:
            conditions.append(task.c.updated_at >= since)
        total = sa.select(sa.func.count()).select_from(task).where(*conditions)
        if before is not None:
            key = sa.tuple_(task.c.updated_at, task.c.task_id)
            conditions.append(key < sa.tuple_(sa.literal(before[0]), sa.literal(before[1])))
        order = (task.c.updated_at.desc(), task.c.task_id.desc())
        query = _select().where(*conditions).order_by(*order).limit(size + 1)
        async with self._database.transaction() as connection:
            count = (await connection.execute(total)).scalar_one()
            rows = (await connection.execute(query)).all()
        return Page(tasks=[_stored(row) for row in rows[:size]], total=count, more=len(rows) > size)

    async def parked(self, caller: str, context_id: str, *, states: Sequence[str]) -> list[str]:
        """Ids of a context's open tasks in one of these states, without an open turn."""
        busy = sa.select(turn.c.task_id).where(turn.c.status == "open")
        query = sa.select(task.c.task_id).where(
            task.c.caller == caller,
            task.c.context_id == context_id,
            task.c.ended.is_(False),
            task.c.state.in_(states),
            task.c.task_id.not_in(busy),
        )
        async with self._database.transaction() as connection:
            return list((await connection.execute(query)).scalars())

    async def of_conversation(self, conversation: str, state: str) -> StoredTask | None:
        """The open task of a dialogue that was last changed to this state."""
        query = (
            _select()
            .where(
                task.c.conversation == conversation, task.c.ended.is_(False), task.c.state == state
            )
            .order_by(task.c.updated_at.desc())
            .limit(1)
        )
        async with self._database.transaction() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else _stored(row)


async def insert_events(
    connection: AsyncConnection, task_id: str, events: Sequence[tuple[int, bytes]]
) -> None:
    """Add events to a task's log inside the caller's transaction."""
    if events:
        rows = [{"task_id": task_id, "seq": seq, "payload": payload} for seq, payload in events]
        await connection.execute(_ADD_EVENT, rows)


# What every turn needs is built once: building a statement costs more than running it.
_ADD_EVENT = event.insert()
_RELEASE = context.update().where(context.c.task_id == sa.bindparam("of_task")).values(task_id=None)
_ADVANCE = (
    task.update()
    .where(
        task.c.task_id == sa.bindparam("of_task"),
        task.c.version == sa.bindparam("read_at"),
        task.c.ended.is_(False),
    )
    .returning(task.c.push)
)
_OPEN_TURN = turn.update().where(turn.c.id == sa.bindparam("of_turn"), turn.c.status == "open")
_END_OWN = _OPEN_TURN.where(turn.c.runner == sa.bindparam("of_runner"))
_END_LOST = _OPEN_TURN.where(turn.c.lease_until < sa.bindparam("now"))


async def _end_turn(connection: AsyncConnection, end: TurnEnd | None) -> bool:
    if end is None:
        return True
    changed = {"of_turn": end.turn_id, "outcome": end.outcome, "expires_at": end.expires_at}
    if end.runner:
        changed |= {"of_runner": end.runner, "status": "done"}
    else:
        changed |= {"now": time.time(), "status": "lost"}
    done = await connection.execute(_END_OWN if end.runner else _END_LOST, changed)
    return done.rowcount == 1


def _advanced(change: Change) -> dict[str, Any]:
    return {
        "of_task": change.task_id,
        "read_at": change.version,
        "state": change.state,
        "ended": change.ended,
        "version": change.version + 1,
        "seq": change.seq,
        "body": change.body,
        "updated_at": time.time(),
    }


def _outbox(task_id: str, state: str, body: bytes) -> Any:
    """One row for each of the task's push subscriptions."""
    now = time.time()
    values = sa.select(
        push_config.c.task_id,
        push_config.c.config_id,
        sa.literal(state),
        sa.literal(body, sa.LargeBinary),
        sa.literal(0),
        sa.literal(now),
        sa.literal(False),
        sa.literal(""),
        sa.literal(now),
    ).where(push_config.c.task_id == task_id)
    names = [column.name for column in push_outbox.c if column.name != "id"]
    return push_outbox.insert().from_select(names, values)


def _select() -> sa.Select[Any]:
    return sa.select(task)


def _stored(row: Any) -> StoredTask:
    return StoredTask(
        task_id=row.task_id,
        caller=row.caller,
        context_id=row.context_id,
        conversation=row.conversation,
        state=row.state,
        ended=row.ended,
        version=row.version,
        seq=row.seq,
        body=row.body,
        cancelling=row.cancel_requested_at is not None,
        updated_at=row.updated_at,
    )
