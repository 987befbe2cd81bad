"""One conversation is counted and deleted in every table, and no other, on both databases."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
import sqlalchemy as sa

from rasa_react_ext.store import (
    Database,
    Inbox,
    Journal,
    JournalEntry,
    PersonalData,
    RemoteTask,
    RemoteTasks,
    secret_hash,
)
from rasa_react_ext.store.schema import metadata
from rasa_react_ext.store.ticket import ticket
from tests.store.served import serve_a_task

KINDS = {
    "calls in the journal": 1,
    "reports of remote agents": 1,
    "remote tasks": 1,
    "turns of served tasks": 1,
    "events of served tasks": 1,
    "push subscriptions": 1,
    "pushes": 1,
    "served tasks": 1,
    "contexts of callers": 1,
    "old locks": 1,
}


@pytest.fixture
async def database(store: str) -> AsyncGenerator[Database]:
    """The database with two conversations in every table, closed at the end."""
    opened = Database(store)
    for name in ("anna", "bert"):
        await fill(opened, f"a2a:shop:{name}")
    yield opened
    await opened.aclose()


async def fill(database: Database, conversation: str) -> None:
    """A row in every table."""
    entry = JournalEntry(turn="t", call_key="k")
    await Journal(database).write(conversation, "desk", entry)
    await RemoteTasks(database).add(
        RemoteTask(
            key=conversation,
            conversation=conversation,
            agent="broker",
            secret_hash=secret_hash("s"),
        )
    )
    await Inbox(database).accept(conversation, "s", b"report")
    await serve_a_task(database, conversation, conversation=conversation, subscribed=True)
    async with database.transaction() as connection:
        await connection.execute(
            ticket.insert().values(name=conversation, expires_at=1.0, ends_at=1.0)
        )


async def rows(database: Database) -> dict[str, int]:
    """Rows of each table."""
    async with database.transaction() as connection:
        return {
            name: int(
                (await connection.execute(sa.select(sa.func.count()).select_from(t))).scalar_one()
            )
            for name, t in metadata.tables.items()
        }


async def test_every_table_is_counted_and_emptied_of_one_conversation(database: Database) -> None:
    before = await rows(database)
    assert all(before.values()), "a table that this test does not fill: forget it, too"
    anna = PersonalData(database, "a2a:shop:anna")
    assert await anna.count() == KINDS
    assert await anna.open_tasks() == 2
    assert await anna.forget() == KINDS
    assert await rows(database) == {name: count // 2 for name, count in before.items()}
    assert sum((await anna.count()).values()) == 0
    assert await PersonalData(database, "a2a:shop:bert").count() == KINDS


async def test_turns_whose_task_is_gone_are_found_by_their_context(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(metadata.tables["rasa_react_ext_a2a_task"].delete())
    counts = await PersonalData(database, "a2a:shop:anna").forget()
    assert counts["turns of served tasks"] == 1
    assert counts["served tasks"] == 0


async def test_a_conversation_nobody_knows_has_nothing(database: Database) -> None:
    nobody = PersonalData(database, "nobody")
    assert sum((await nobody.forget()).values()) == 0
    assert await nobody.open_tasks() == 0


async def test_a_lock_that_is_held_is_left_to_its_owner(database: Database) -> None:
    async with database.transaction() as connection:
        await connection.execute(ticket.update().values(expires_at=9e9))
    assert (await PersonalData(database, "a2a:shop:anna").forget())["old locks"] == 0
