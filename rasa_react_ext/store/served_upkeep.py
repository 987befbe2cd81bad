"""What is removed with time from the tables of served tasks, and what they hold now."""

from __future__ import annotations

import time
from collections.abc import Sequence

import sqlalchemy as sa

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.served_schema import (
    context,
    event,
    push_config,
    push_outbox,
    task,
    turn,
)

__all__ = ["ServedUpkeep"]

_BATCH = 500


class ServedUpkeep:
    """Upkeep of the tables in one database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def forget(self, kept_seconds: float) -> None:
        """Remove expired claims, and what belongs to tasks that ended long ago.

        Args:
            kept_seconds: How long an ended task is kept.
        """
        now = time.time()
        async with self._database.transaction() as connection:
            await connection.execute(
                turn.delete().where(turn.c.status != "open", turn.c.expires_at < now)
            )
        old = sa.select(task.c.task_id).where(
            task.c.ended.is_(True), task.c.updated_at < now - kept_seconds
        )
        await self._remove(old, (event, push_config, push_outbox, task))
        async with self._database.transaction() as connection:
            await connection.execute(
                context.delete().where(
                    context.c.task_id.is_(None), context.c.last_seen < now - kept_seconds
                )
            )

    async def forget_events(self, kept_seconds: float) -> None:
        """Remove the event logs of tasks that ended a while ago."""
        ended = sa.select(task.c.task_id).where(
            task.c.ended.is_(True),
            task.c.updated_at < time.time() - kept_seconds,
            task.c.task_id.in_(sa.select(event.c.task_id).distinct()),
        )
        await self._remove(ended, (event,))

    async def _remove(self, ids: sa.Select[tuple[str]], tables: Sequence[sa.Table]) -> None:
        """Remove the rows of tasks, a batch in each transaction, until there are no more."""
        found = _BATCH
        while found == _BATCH:
            async with self._database.transaction() as connection:
                some = list((await connection.execute(ids.limit(_BATCH))).scalars())
                for table in tables if some else ():
                    await connection.execute(table.delete().where(table.c.task_id.in_(some)))
            found = len(some)

    async def stale(self, states: Sequence[str], older_than: float) -> list[str]:
        """Ids of open tasks in these states that nobody has touched since, nor runs."""
        busy = sa.select(turn.c.task_id).where(turn.c.status == "open")
        query = (
            sa.select(task.c.task_id)
            .where(
                task.c.ended.is_(False),
                task.c.state.in_(states),
                task.c.updated_at < older_than,
                task.c.task_id.not_in(busy),
            )
            .limit(_BATCH)
        )
        async with self._database.transaction() as connection:
            return list((await connection.execute(query)).scalars())

    async def counts(self) -> dict[str, int]:
        """Open tasks by state, open turns and open contexts."""
        by_state = (
            sa.select(task.c.state, sa.func.count())
            .where(task.c.ended.is_(False))
            .group_by(task.c.state)
        )
        turns = sa.select(sa.func.count()).where(turn.c.status == "open")
        contexts = sa.select(sa.func.count()).where(context.c.task_id.is_not(None))
        async with self._database.transaction() as connection:
            counts = {f"tasks_{row[0]}": int(row[1]) for row in await connection.execute(by_state)}
            counts["turns"] = int((await connection.execute(turns)).scalar_one())
            counts["contexts"] = int((await connection.execute(contexts)).scalar_one())
        return counts
