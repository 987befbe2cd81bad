"""Push subscriptions of served tasks, and the outbox of what is still to be pushed.

For each subscription of a task only the oldest row is ever due, so pushes keep their
order. A row given up on stays as a dead letter.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.served_schema import push_config, push_outbox, task
from rasa_react_ext.store.served_turn import put_push_config
from rasa_react_ext.store.text import storable

__all__ = ["DuePush", "PushConfig", "ServedPushes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConfig:
    """A subscription.

    Attributes:
        config_id: Its id.
        protocol: Protocol version it was made with, `0.3` or `1.0`.
        body: The subscription, as the protocol layer wrote it.
    """

    config_id: str
    protocol: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DuePush:
    """A push that this process has taken.

    Attributes:
        push_id: Number of the row.
        task_id: The task.
        body: The whole task as it was then.
        attempts: How often it was tried before.
        config: The subscription; None if it is gone.
    """

    push_id: int
    task_id: str
    body: bytes
    attempts: int
    config: PushConfig | None


class ServedPushes:
    """Subscriptions and outbox in one database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, task_id: str, config: PushConfig) -> None:
        """Make or replace a subscription."""
        async with self._database.transaction() as connection:
            made = (config.config_id, config.protocol, config.body)
            await put_push_config(connection, task_id, made)

    async def configs(self, task_id: str) -> list[PushConfig]:
        """The subscriptions of a task, by id."""
        query = (
            sa.select(push_config)
            .where(push_config.c.task_id == task_id)
            .order_by(push_config.c.config_id)
        )
        async with self._database.transaction() as connection:
            return [
                PushConfig(config_id=row.config_id, protocol=row.protocol, body=row.body)
                for row in await connection.execute(query)
            ]

    async def remove(self, task_id: str, config_id: str) -> None:
        """End a subscription; what it was still to get is dropped."""
        async with self._database.transaction() as connection:
            for table in (push_config, push_outbox):
                await connection.execute(
                    table.delete().where(table.c.task_id == task_id, table.c.config_id == config_id)
                )

    async def take(self, limit: int, held_seconds: float) -> list[DuePush]:
        """Take pushes that are due; each is ours until `held_seconds` have passed.

        Args:
            limit: How many at most.
            held_seconds: When another process may try them again.
        """
        now = time.time()
        other = push_outbox.alias()
        earlier = sa.exists().where(
            other.c.task_id == push_outbox.c.task_id,
            other.c.config_id == push_outbox.c.config_id,
            other.c.id < push_outbox.c.id,
            other.c.dead.is_(False),
        )
        due = (
            sa.select(push_outbox.c.id)
            .where(push_outbox.c.dead.is_(False), push_outbox.c.next_at <= now, ~earlier)
            .order_by(push_outbox.c.next_at)
            .limit(limit)
            .with_for_update(skip_locked=True)
        )
        taken = (
            push_outbox.update()
            .where(push_outbox.c.id.in_(due.scalar_subquery()))
            .values(next_at=now + held_seconds, attempts=push_outbox.c.attempts + 1)
            .returning(
                push_outbox.c.id,
                push_outbox.c.task_id,
                push_outbox.c.config_id,
                push_outbox.c.body,
                push_outbox.c.attempts,
            )
        )
        async with self._database.transaction() as connection:
            if (await connection.execute(due)).first() is None:
                return []
            rows = (await connection.execute(taken)).all()
            tasks = [row.task_id for row in rows]
            query = sa.select(push_config).where(push_config.c.task_id.in_(tasks))
            configs = {(row.task_id, row.config_id): row for row in await connection.execute(query)}
        return [_due(row, configs.get((row.task_id, row.config_id))) for row in rows]

    async def done(self, push_id: int) -> None:
        """A push was delivered."""
        async with self._database.transaction() as connection:
            await connection.execute(push_outbox.delete().where(push_outbox.c.id == push_id))

    async def failed(self, push_id: int, error: str, *, retry_at: float | None) -> None:
        """A push was not delivered.

        Args:
            push_id: The push.
            error: Why.
            retry_at: When to try again; None to give up.
        """
        values: dict[str, Any] = {"last_error": storable(error, 2000)}
        values |= {"dead": True} if retry_at is None else {"next_at": retry_at}
        async with self._database.transaction() as connection:
            await connection.execute(
                push_outbox.update().where(push_outbox.c.id == push_id).values(**values)
            )

    async def waiting(self) -> dict[str, int]:
        """How many pushes wait and how many were given up on."""
        query = sa.select(push_outbox.c.dead, sa.func.count()).group_by(push_outbox.c.dead)
        async with self._database.transaction() as connection:
            counts = {bool(row[0]): int(row[1]) for row in await connection.execute(query)}
        return {"waiting": counts.get(False, 0), "dead": counts.get(True, 0)}

    async def forget_of_ended(self, older_than: float) -> None:
        """Remove subscriptions of tasks that ended long ago, once all was delivered."""
        ended = sa.select(task.c.task_id).where(
            task.c.ended.is_(True), task.c.updated_at < older_than
        )
        pending = sa.select(push_outbox.c.task_id).where(push_outbox.c.dead.is_(False))
        async with self._database.transaction() as connection:
            await connection.execute(
                push_config.delete().where(
                    push_config.c.task_id.in_(ended), push_config.c.task_id.not_in(pending)
                )
            )


def _due(row: Any, config: Any) -> DuePush:
    return DuePush(
        push_id=row.id,
        task_id=row.task_id,
        body=row.body,
        attempts=row.attempts,
        config=None
        if config is None
        else PushConfig(config_id=config.config_id, protocol=config.protocol, body=config.body),
    )
