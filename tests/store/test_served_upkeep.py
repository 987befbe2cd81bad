"""Rows of served tasks are kept for as long as promised, however many there are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import sqlalchemy as sa

from rasa_react_ext.store import Database, ServedUpkeep, served_upkeep
from rasa_react_ext.store.served_schema import context, event, push_config, push_outbox, task
from tests.store.served import serve_a_task

DAY = 86400.0


async def _rows(database: Database, tables: Sequence[sa.Table]) -> dict[str, int]:
    async with database.transaction() as connection:
        return {
            table.name.rpartition("a2a_")[2]: int(
                (
                    await connection.execute(sa.select(sa.func.count()).select_from(table))
                ).scalar_one()
            )
            for table in tables
        }


async def _aged(database: Database, task_ids: Sequence[str]) -> None:
    """Make tasks two days old."""
    async with database.transaction() as connection:
        await connection.execute(
            task.update()
            .where(task.c.task_id.in_(task_ids))
            .values(updated_at=task.c.updated_at - 2 * DAY)
        )


async def test_more_old_tasks_than_one_batch_are_removed_at_once(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_upkeep, "_BATCH", 3)
    database = Database(store)
    names = [f"t{number}" for number in range(7)]
    for name in names:
        await serve_a_task(
            database, name, conversation=f"a2a:shop:{name}", state="completed", subscribed=True
        )
    await serve_a_task(database, "young", conversation="a2a:shop:y", state="completed")
    await serve_a_task(database, "waits", conversation="a2a:shop:w")
    await _aged(database, [*names, "waits"])

    await ServedUpkeep(database).forget(DAY)

    left = await _rows(database, (task, event, push_config, push_outbox))
    assert left == {"task": 2, "event": 2, "push_config": 0, "push_outbox": 0}
    async with database.transaction() as connection:
        kept = (await connection.execute(sa.select(task.c.task_id))).scalars().all()
    assert set(kept) == {"young", "waits"}
    await database.aclose()


async def test_logs_of_ended_tasks_go_before_the_tasks_do(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_upkeep, "_BATCH", 2)
    database = Database(store)
    names = [f"t{number}" for number in range(5)]
    for name in names:
        await serve_a_task(database, name, conversation=f"a2a:shop:{name}", state="completed")
    await serve_a_task(database, "waits", conversation="a2a:shop:w")
    await _aged(database, [*names, "waits"])

    await ServedUpkeep(database).forget_events(DAY)

    assert await _rows(database, (task, event, context)) == {"task": 6, "event": 1, "context": 6}
    await database.aclose()
