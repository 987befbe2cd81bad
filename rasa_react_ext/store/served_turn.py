"""Turns of served tasks: claimed once, run one after the other, leased to a process.

A turn is claimed by its message id. Claims of one context wait for each other, so
the numbers of its turns are in the order in which they were accepted.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.served_schema import context, push_config, task, turn

__all__ = ["Claim", "LostTurn", "NewTask", "NewTurn", "ServedTurns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task to be made with its first turn.

    Attributes:
        state: Name of its first state.
        body: The whole task; it counts as the first event and is not in the log.
    """

    state: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn somebody asks for.

    Attributes:
        caller: Who asks.
        context_id: The caller's context.
        message_id: The caller's id of the request.
        digest: Of its content.
        task_id: The task it belongs to.
        conversation: Id of the dialogue.
        runner: The process that would run it.
        lease_seconds: How long that process may be silent.
        kept_seconds: How long the claim is kept if it never ends.
        new_task: The task, if it is to be made.
        push: A push subscription to make: id, protocol and body.
        max_contexts: How many contexts may be open; None for any number.
    """

    caller: str
    context_id: str
    message_id: str
    digest: str
    task_id: str
    conversation: str
    runner: str
    lease_seconds: float
    kept_seconds: float
    new_task: NewTask | None = None
    push: tuple[str, str, bytes] | None = None
    max_contexts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What became of a claim.

    Attributes:
        status: `new` (it is ours), `open` (another runs it), `done` or `lost` (it has
            ended), `ended` (its task takes no further turn).
        turn_id: Number of the turn.
        task_id: The task of the turn that holds the message id.
        digest: Of the content that holds it.
        outcome: What the ended turn was answered with.
        full: Whether it is ours but too many contexts are open.
        alone: Whether no earlier turn of its context is open, nor a task but its own.
    """

    status: str
    turn_id: int = 0
    task_id: str = ""
    digest: str = ""
    outcome: bytes | None = None
    full: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTurn:
    """An open turn whose process is silent for too long.

    Attributes:
        turn_id: The turn.
        task_id: Its task.
    """

    turn_id: int
    task_id: str


class ServedTurns:
    """The turns in one database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def claim(self, new: NewTurn) -> Claim:
        """Take a turn, unless somebody has taken the same before."""
        async with self._database.transaction() as connection:
            reserved = (await connection.execute(_NOTE, _seen(new))).scalar_one()
            turn_id = (await connection.execute(_CLAIM, _taken(new))).scalar_one_or_none()
            if turn_id is None:
                return await _earlier(connection, new)
            # The context is new where it is held by a task that is only being made.
            unknown = new.new_task is not None and reserved == new.task_id
            full = (unknown or reserved is None) and await _is_full(connection, new)
            if new.new_task is not None:
                await _make_task(connection, new, new.new_task)
            elif not await _still_open(connection, new.task_id):
                await connection.rollback()
                return Claim(status="ended", task_id=new.task_id)
            if new.push is not None:
                await put_push_config(connection, new.task_id, new.push)
            held = None if full else new.task_id
            if reserved != held:
                await connection.execute(
                    _HOLD,
                    {"of_caller": new.caller, "of_context": new.context_id, "task_id": held},
                )
            alone = unknown or (
                reserved in (None, new.task_id)
                and await _is_first(connection, turn_id, new.caller, new.context_id)
            )
        return Claim(
            status="new",
            turn_id=turn_id,
            task_id=new.task_id,
            digest=new.digest,
            full=full,
            alone=alone,
        )

    async def is_first(self, turn_id: int, caller: str, context_id: str) -> bool:
        """Whether no earlier turn of the context is open and alive."""
        async with self._database.transaction() as connection:
            return await _is_first(connection, turn_id, caller, context_id)

    async def renew(self, runner: str, lease_seconds: float) -> None:
        """Say that a process is alive."""
        async with self._database.transaction() as connection:
            await connection.execute(
                turn.update()
                .where(turn.c.runner == runner, turn.c.status == "open")
                .values(lease_until=time.time() + lease_seconds)
            )

    async def signals(self, turn_ids: Collection[int]) -> tuple[set[int], set[str]]:
        """Which of these turns are still open, and which of their tasks to cancel."""
        query = (
            sa.select(turn.c.id, turn.c.task_id, task.c.cancel_requested_at)
            .join(task, task.c.task_id == turn.c.task_id)
            .where(turn.c.id.in_(turn_ids), turn.c.status == "open")
        )
        async with self._database.transaction() as connection:
            rows = (await connection.execute(query)).all()
        cancelled = {row.task_id for row in rows if row.cancel_requested_at is not None}
        return {row.id for row in rows}, cancelled

    async def lost(self, task_id: str | None = None) -> list[LostTurn]:
        """Open turns whose lease has run out, of one task or of all."""
        query = sa.select(turn.c.id, turn.c.task_id).where(
            turn.c.status == "open", turn.c.lease_until < time.time()
        )
        if task_id is not None:
            query = query.where(turn.c.task_id == task_id)
        async with self._database.transaction() as connection:
            rows = await connection.execute(query.limit(100))
            return [LostTurn(turn_id=row.id, task_id=row.task_id) for row in rows]

    async def drop(self, turn_id: int, outcome: bytes, *, runner: str, kept_seconds: float) -> None:
        """End a turn that has nothing to change any more.

        Args:
            turn_id: The turn.
            outcome: What a repeated request is answered with.
            runner: Who ran it; empty where its lease has run out.
            kept_seconds: How long the answer is kept.
        """
        mine = turn.c.runner == runner if runner else turn.c.lease_until < time.time()
        async with self._database.transaction() as connection:
            await connection.execute(
                turn.update()
                .where(turn.c.id == turn_id, turn.c.status == "open", mine)
                .values(status="done", outcome=outcome, expires_at=time.time() + kept_seconds)
            )

    async def has_open(self, task_id: str) -> bool:
        """Whether a turn of the task is open and alive."""
        query = sa.select(turn.c.id).where(
            turn.c.task_id == task_id, turn.c.status == "open", turn.c.lease_until > time.time()
        )
        async with self._database.transaction() as connection:
            return (await connection.execute(query.limit(1))).first() is not None


async def put_push_config(
    connection: AsyncConnection, task_id: str, config: tuple[str, str, bytes]
) -> None:
    """Make or replace a push subscription inside the caller's transaction."""
    config_id, protocol, body = config
    values: dict[str, Any] = {"protocol": protocol, "body": body}
    statement = upsert(connection, push_config).values(
        task_id=task_id, config_id=config_id, **values
    )
    await connection.execute(
        statement.on_conflict_do_update(
            index_elements=[push_config.c.task_id, push_config.c.config_id], set_=values
        )
    )
    await connection.execute(task.update().where(task.c.task_id == task_id).values(push=True))


def upsert(connection: AsyncConnection, table: sa.Table) -> Any:
    """The dialect's insert, which knows `ON CONFLICT`."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return dialect.insert(table)


# What every turn needs is built once: building a statement costs more than running it.
# The dialects' own inserts with `ON CONFLICT` would be compiled each time; both read this text.
_NOTE = sa.text(
    f"INSERT INTO {context.name} (caller, context_id, conversation, task_id, last_seen)"
    " VALUES (:caller, :context_id, :conversation, :task_id, :last_seen)"
    " ON CONFLICT (caller, context_id) DO UPDATE SET last_seen = excluded.last_seen"
    " RETURNING task_id"
)
_CLAIM = sa.text(
    f"INSERT INTO {turn.name} (caller, context_id, message_id, task_id, digest, status, runner,"
    " lease_until, created_at, expires_at)"
    " VALUES (:caller, :context_id, :message_id, :task_id, :digest, :status, :runner,"
    " :lease_until, :created_at, :expires_at)"
    " ON CONFLICT DO NOTHING RETURNING id"
)
_HOLD = context.update().where(
    context.c.caller == sa.bindparam("of_caller"),
    context.c.context_id == sa.bindparam("of_context"),
)
_MAKE_TASK = task.insert()
_EARLIER_TURN = (
    sa.select(turn.c.id)
    .where(
        turn.c.caller == sa.bindparam("of_caller"),
        turn.c.context_id == sa.bindparam("of_context"),
        turn.c.status == "open",
        turn.c.id < sa.bindparam("of_turn"),
        turn.c.lease_until > sa.bindparam("now"),
    )
    .limit(1)
)


def _seen(new: NewTurn) -> dict[str, Any]:
    """The context, held by the new task if nobody knew it; its row is locked until the end."""
    return {
        "caller": new.caller,
        "context_id": new.context_id,
        "conversation": new.conversation,
        "task_id": new.task_id,
        "last_seen": time.time(),
    }


def _taken(new: NewTurn) -> dict[str, Any]:
    now = time.time()
    return {
        "caller": new.caller,
        "context_id": new.context_id,
        "message_id": new.message_id,
        "task_id": new.task_id,
        "digest": new.digest,
        "status": "open",
        "runner": new.runner,
        "lease_until": now + new.lease_seconds,
        "created_at": now,
        "expires_at": now + new.kept_seconds,
    }


async def _earlier(connection: AsyncConnection, new: NewTurn) -> Claim:
    query = sa.select(turn).where(
        turn.c.caller == new.caller,
        turn.c.context_id == new.context_id,
        turn.c.message_id == new.message_id,
    )
    row = (await connection.execute(query)).one()
    return Claim(
        status=row.status,
        turn_id=row.id,
        task_id=row.task_id,
        digest=row.digest,
        outcome=row.outcome,
    )


async def _is_full(connection: AsyncConnection, new: NewTurn) -> bool:
    """Whether too many contexts are open without that of the new turn."""
    if new.max_contexts is None:
        return False
    mine = sa.and_(context.c.caller == new.caller, context.c.context_id == new.context_id)
    query = sa.select(sa.func.count()).where(context.c.task_id.is_not(None), sa.not_(mine))
    return int((await connection.execute(query)).scalar_one()) >= new.max_contexts


async def _is_first(
    connection: AsyncConnection, turn_id: int, caller: str, context_id: str
) -> bool:
    at = {"of_caller": caller, "of_context": context_id, "of_turn": turn_id, "now": time.time()}
    return (await connection.execute(_EARLIER_TURN, at)).first() is None


async def _still_open(connection: AsyncConnection, task_id: str) -> bool:
    query = sa.select(task.c.ended).where(task.c.task_id == task_id)
    return (await connection.execute(query)).scalar_one_or_none() is False


async def _make_task(connection: AsyncConnection, new: NewTurn, made: NewTask) -> None:
    now = time.time()
    values = {
        "task_id": new.task_id,
        "caller": new.caller,
        "context_id": new.context_id,
        "conversation": new.conversation,
        "state": made.state,
        "ended": False,
        "version": 1,
        "seq": 1,
        "body": made.body,
        "push": False,
        "cancel_requested_at": None,
        "created_at": now,
        "updated_at": now,
    }
    await connection.execute(_MAKE_TASK, values)
