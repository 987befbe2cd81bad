"""A database is opened, migrated and closed, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.store import Database, Journal, JournalEntry
from rasa_react_ext.store.database import StoreError, store_url
from rasa_react_ext.store.migration import VERSION_TABLE
from rasa_react_ext.store.schema import metadata


@pytest.mark.parametrize(
    ("setting", "driver", "database"),
    [
        ("state/agents.db", "sqlite+aiosqlite", "state/agents.db"),
        ("sqlite:////var/lib/agents.db", "sqlite+aiosqlite", "/var/lib/agents.db"),
        ("postgresql://bot:pw@db/agents", "postgresql+asyncpg", "agents"),
        ("postgres://bot:pw@db/agents", "postgresql+asyncpg", "agents"),
        ("postgresql+psycopg2://bot:pw@db/agents", "postgresql+asyncpg", "agents"),
    ],
)
def test_a_setting_names_a_file_or_a_database_server(
    setting: str, driver: str, database: str
) -> None:
    url = store_url(setting)
    assert (url.drivername, url.database) == (driver, database)


@pytest.mark.parametrize("setting", ["mysql://bot:secret@db/x", "://secret", "redis://secret"])
def test_another_address_is_refused_with_key_and_fix_and_without_its_password(
    setting: str,
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Database(setting)
    assert "endpoints.yml: rasa_react_ext: store" in str(refused.value)
    assert "postgresql://" in refused.value.fix
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("place", "reason"), [("", "it is a folder"), ("file/agents.db", "File exists")]
)
def test_a_file_that_cannot_be_written_is_refused_by_name_with_the_reason(
    tmp_path: Path, place: str, reason: str
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with pytest.raises(ConfigurationError) as refused:
        Database(str(tmp_path / place)).check_place()
    assert refused.value.key == "rasa_react_ext: store"
    file = str(tmp_path / place).rstrip("/")
    assert refused.value.problem == f"{file!r} cannot be written ({reason})."


def test_a_place_that_can_be_written_is_accepted_and_a_server_is_not_asked(tmp_path: Path) -> None:
    Database(str(tmp_path / "new" / "agents.db")).check_place()
    Database("postgresql://nobody@127.0.0.1:1/none").check_place()


async def test_the_folder_of_a_sqlite_file_is_made(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "new" / "folder" / "agents.db"))
    assert await Journal(database).entries("c", "a") == []
    await database.aclose()
    assert (tmp_path / "new" / "folder" / "agents.db").is_file()


async def test_migration_gives_exactly_the_declared_tables(store: str) -> None:
    database = Database(store)
    async with database.transaction() as connection:
        names = await connection.run_sync(lambda sync: set(sa.inspect(sync).get_table_names()))
        columns = await connection.run_sync(
            lambda sync: {
                table: {column["name"] for column in sa.inspect(sync).get_columns(table)}
                for table in metadata.tables
            }
        )
    await database.aclose()
    assert set(metadata.tables) | {VERSION_TABLE} <= names
    for name, table in metadata.tables.items():
        assert columns[name] == {column.name for column in table.columns}


async def test_several_processes_may_migrate_at_once(store: str) -> None:
    databases = [Database(store) for _ in range(4)]
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for database in databases:
                group.start_soon(Journal(database).entries, "c", "a")
    for database in databases:
        await database.aclose()


async def test_databases_of_one_process_are_made_at_the_same_time_without_mixing(
    store: str, tmp_path: Path
) -> None:
    databases = [Database(store), *(Database(str(tmp_path / f"{n}.db")) for n in range(3))]
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            for database in databases:
                group.start_soon(Journal(database).entries, "c", "a")
    for database in databases:
        async with database.transaction() as connection:
            names = await connection.run_sync(lambda sync: set(sa.inspect(sync).get_table_names()))
        assert names == {*metadata.tables, VERSION_TABLE}
        await database.aclose()


async def test_many_at_once_share_few_connections(store: str) -> None:
    database, sessions = Database(store), set[int]()
    pid = "SELECT pg_backend_pid()" if store.startswith("postgresql") else "SELECT 1"

    async def look() -> None:
        async with database.transaction() as connection:
            sessions.add((await connection.execute(sa.text(pid))).scalar_one())

    async with anyio.create_task_group() as group:
        for _ in range(60):
            group.start_soon(look)
    await database.aclose()
    assert 1 <= len(sessions) <= 5


async def test_a_failed_transaction_leaves_nothing(store: str) -> None:
    database = Database(store)
    journal = Journal(database)
    await journal.entries("c", "a")

    async def broken() -> None:
        async with database.transaction() as connection:
            row = {"conversation": "c", "agent": "a", "turn": "t", "call_key": "k"}
            table = metadata.tables["rasa_react_ext_journal"]
            await connection.execute(table.insert().values(**row, created_at=0.0))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await broken()
    assert await journal.entries("c", "a") == []
    await database.aclose()


def test_a_database_serves_one_event_loop_after_the_other(store: str) -> None:
    database = Database(store)
    journal = Journal(database)

    async def write(turn: str) -> list[JournalEntry]:
        await journal.write("c", "a", JournalEntry(turn=turn, call_key="k"))
        entries = await journal.entries("c", "a")
        await database.aclose()
        return entries

    assert len(asyncio.run(write("first"))) == 1
    assert [entry.turn for entry in asyncio.run(write("second"))] == ["first", "second"]


def test_a_loop_that_ended_without_closing_leaves_no_connection(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "agents.db"))

    async def use(*, close: bool) -> None:
        await Journal(database).entries("c", "a")
        if close:
            await database.aclose()

    before = threading.active_count()
    asyncio.run(use(close=False))
    asyncio.run(use(close=True))
    gc.collect()  # a connection that nobody closed would warn, and warnings are errors
    for thread in threading.enumerate()[before:]:
        thread.join(10)
        assert not thread.is_alive()


def test_closing_leaves_no_connection_of_a_loop_that_ended_before(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "agents.db"))

    async def use() -> None:
        await Journal(database).entries("c", "a")

    before = threading.active_count()
    asyncio.run(use())
    asyncio.run(database.aclose())
    gc.collect()
    for thread in threading.enumerate()[before:]:
        thread.join(10)
        assert not thread.is_alive()


async def test_a_task_cancelled_in_a_statement_leaves_the_database_whole(tmp_path: Path) -> None:
    path = tmp_path / "agents.db"
    database = Database(str(path))
    journal = Journal(database)
    await journal.entries("c", "a")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        entry = JournalEntry(turn="t", call_key="k")
        writing = asyncio.create_task(journal.write("c", "a", entry))
        await asyncio.wait({writing}, timeout=0.1)
        writing.cancel()
        with anyio.fail_after(1), pytest.raises(asyncio.CancelledError):
            await writing
        other.execute("ROLLBACK")
    with anyio.fail_after(30):
        # The one connection of SQLite comes back, and nothing of the cut-off turn is kept.
        assert await journal.entries("c", "a") == []
        await database.aclose()


async def test_closing_waits_for_statements_of_cancelled_tasks(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "agents.db"))
    journal = Journal(database)
    entry = JournalEntry(turn="t", call_key="k")
    for turns in range(20):
        task = asyncio.create_task(journal.write("c", "a", entry))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
    with anyio.fail_after(30):
        await database.aclose()


async def test_closing_waits_for_whoever_is_in_the_middle_of_a_transaction(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "agents.db"))
    begun, leave = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        async with database.transaction():
            begun.set()
            await leave.wait()

    async with asyncio.timeout(10):
        working = asyncio.create_task(work())
        await begun.wait()
        closing_it = asyncio.create_task(database.aclose())
        await asyncio.sleep(0)
        assert not closing_it.done()
        leave.set()
        await closing_it
    assert working.done()


@pytest.mark.parametrize(
    "address", ["postgresql://root@127.0.0.1:1/x", "postgresql://root@nowhere.invalid/x"]
)
async def test_a_database_that_cannot_be_reached_is_an_error_of_the_store(address: str) -> None:
    database = Database(address)
    with pytest.raises(StoreError):
        async with database.transaction():
            pass
    await database.aclose()


async def test_a_database_that_lets_nobody_in_is_an_error_of_the_store(
    postgresql: tuple[str, int],
) -> None:
    host, port = postgresql
    database = Database(f"postgresql://root@{host}:{port}/no_such_database")
    with pytest.raises(StoreError, match="no_such_database"):
        async with database.transaction():
            pass
    await database.aclose()


def test_a_relative_path_is_the_file_of_the_folder_in_which_an_event_loop_first_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(".rasa/store.db")
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        asyncio.run(_noted(database))
        assert (folder / ".rasa" / "store.db").is_file()


async def _noted(database: Database) -> None:
    await Journal(database).write("c", "a", JournalEntry(turn="t", call_key="k"))
    assert len(await Journal(database).entries("c", "a")) == 1
    await database.aclose()
