"""One database: its engine in each event loop, its schema brought up to date.

Engines belong to the loop that opened them; those of loops that have ended are
dropped. The schema is migrated once per process, before the first use.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from weakref import WeakSet

import aiosqlite
from sqlalchemy import Connection, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.store.connection import WholeConnection
from rasa_react_ext.store.migration import migrate

__all__ = ["Database", "store_url"]

_DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "postgresql": "postgresql+asyncpg",
    "postgres": "postgresql+asyncpg",
}
BUSY_SECONDS = 10.0
# A cancelled task waits this long for its statement; after that the connection is
# returned to the pool without it.
GRACE_SECONDS = 0.05
# So long is somebody's transaction waited for when the database is closed.
IN_USE_SECONDS = 5.0
STOP_SECONDS = 1.0
PAUSE_SECONDS = 0.02
# Transactions are short: more at once wait for a moment instead of opening connections.
CONNECTIONS = 5
_MIGRATION = threading.Lock()


def store_url(text: str) -> URL:
    """Read the `store` setting: a database URL, or a path for SQLite.

    Raises:
        ConfigurationError: It is neither; the text never repeats a password.
    """
    try:
        url = make_url(text if "://" in text else f"sqlite:///{text}")
        driver = _DRIVERS[url.drivername.partition("+")[0]]
    except (ArgumentError, KeyError) as error:
        raise ConfigurationError(
            file="endpoints.yml",
            key="rasa_react_ext: store",
            problem="this is no address of a database we can use.",
            fix="Write a file path, sqlite:///path or postgresql://user:${PASSWORD}@host/name.",
        ) from error
    return url.set(drivername=driver)


class Database:
    """A database, usable from several event loops one after the other."""

    def __init__(self, url: str) -> None:
        """Name a database; nothing is opened before the first use.

        Args:
            url: What the `store` setting holds.
        """
        self.url = store_url(url)
        self._engines: dict[asyncio.AbstractEventLoop, AsyncEngine] = {}
        self._migrating: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}
        self._migrated = False
        self._opened_url = self.url
        # What SQLite works with: each has a thread, which outlives the loop.
        self._opened: dict[asyncio.AbstractEventLoop, WeakSet[aiosqlite.Connection]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._in_use: set[asyncio.Future[None]] = set()

    def check_place(self) -> None:
        """Refuse a SQLite file that cannot be written, before anything needs it.

        Other databases are only reached when they are used.

        Raises:
            ConfigurationError: Names the file and what is in the way.
        """
        if self.url.get_backend_name() != "sqlite" or not self.url.database:
            return
        file = Path(self.url.database)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            place = file if file.exists() else file.parent
            reason = "" if os.access(place, os.W_OK) else f"{str(place)!r} may only be read"
            reason = "it is a folder" if file.is_dir() else reason
        except OSError as error:
            reason = error.strerror or str(error)
        if reason:
            raise ConfigurationError(
                file="endpoints.yml",
                key="rasa_react_ext: store",
                problem=f"{str(file)!r} cannot be written ({reason}).",
                fix="Name a file in a folder that can be written, or a PostgreSQL address.",
            )

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[AsyncConnection]:
        """A connection in a transaction that is committed at the end.

        Raises:
            SQLAlchemyError: The database cannot be reached or refuses.
        """
        async with self._connection(await self._engine()) as connection:
            yield connection

    async def aclose(self) -> None:
        """Close the connections of the running loop; the database can be used again.

        What is in use is waited for: nobody would close it once its engine is gone.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + IN_USE_SECONDS
        while (in_use := _of(loop, self._in_use)) and loop.time() < until:
            await asyncio.wait(in_use, timeout=until - loop.time())
        while closing := _of(loop, self._closing):
            await asyncio.wait(closing)
        engine = self._engines.pop(loop, None)
        self._migrating.pop(loop, None)
        self._opened.pop(loop, None)
        await self._forget_closed_loops()
        if engine is not None:
            await engine.dispose()

    @asynccontextmanager
    async def _connection(self, engine: AsyncEngine) -> AsyncGenerator[WholeConnection]:
        loop = asyncio.get_running_loop()
        connection = WholeConnection(engine)
        used: asyncio.Future[None] = loop.create_future()
        self._in_use.add(used)
        keep = False
        try:
            await connection.start()
            yield connection
            keep = True
        finally:
            task = loop.create_task(connection.end(keep=keep))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
            hurried = not keep and _is_cancelled()
            try:
                await asyncio.wait({task}, timeout=GRACE_SECONDS if hurried else None)
            finally:
                self._in_use.discard(used)
                used.set_result(None)
        # What was done is kept, or its error is heard.
        await task

    async def _engine(self) -> AsyncEngine:
        loop = asyncio.get_running_loop()
        engine = self._engines.get(loop)
        if engine is None:
            engine = self._engines[loop] = self._open()
            await self._forget_closed_loops()
        if not self._migrated:
            async with self._migrating.setdefault(loop, asyncio.Lock()):
                if not self._migrated:
                    await self._migrate(engine)
                    self._migrated = True
        return engine

    def _open(self) -> AsyncEngine:
        if self.url.get_backend_name() != "sqlite":
            return create_async_engine(
                self.url, pool_pre_ping=True, pool_size=CONNECTIONS, max_overflow=0
            )
        url = _absolute(self.url)
        if url.database:
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
        # A relative path is another file in another folder.
        self._migrated = self._migrated and url == self._opened_url
        self._opened_url = url
        # SQLite has one writer: more connections would only wait for each other's lock.
        engine = create_async_engine(
            url, connect_args={"timeout": BUSY_SECONDS}, pool_size=1, max_overflow=0
        )
        opened = self._opened.setdefault(asyncio.get_running_loop(), WeakSet())
        event.listen(engine.sync_engine, "connect", partial(_tune_sqlite, opened))
        return engine

    async def _migrate(self, engine: AsyncEngine) -> None:
        async with _alone(), self._connection(engine) as connection:
            await connection.run_sync(_migrated)

    async def _forget_closed_loops(self) -> None:
        stopping: set[asyncio.Future[None]] = set()
        for loop in [loop for loop in self._engines if loop.is_closed()]:
            engine = self._engines.pop(loop)
            self._migrating.pop(loop, None)
            engine.sync_engine.dispose(close=False)
            for connection in self._opened.pop(loop, ()):
                stopped = connection.stop()
                if stopped is not None:
                    stopping.add(stopped)
        if stopping:
            # One that was closed before has nobody who would answer.
            await asyncio.wait(stopping, timeout=STOP_SECONDS)


def _absolute(url: URL) -> URL:
    """The address of a SQLite file wherever the process goes; other addresses stay as they are."""
    path = url.database or ":memory:"
    if path == ":memory:" or path.startswith("file:"):
        return url
    return url.set(database=str(Path(path).absolute()))


def _of(
    loop: asyncio.AbstractEventLoop, futures: Iterable[asyncio.Future[None]]
) -> set[asyncio.Future[None]]:
    return {future for future in futures if future.get_loop() is loop}


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@asynccontextmanager
async def _alone() -> AsyncGenerator[None]:
    """Only one database of the process is migrated at a time, in whatever event loop.

    Alembic keeps what it works on in one place for the whole process.
    """
    while not _MIGRATION.acquire(blocking=False):  # noqa: ASYNC110 - loops share no event
        await asyncio.sleep(PAUSE_SECONDS)
    try:
        yield
    finally:
        _MIGRATION.release()


def _migrated(connection: Connection) -> None:
    migrate(connection)
    connection.commit()


def _tune_sqlite(
    opened: WeakSet[aiosqlite.Connection], connection: DBAPIConnection, record: ConnectionPoolEntry
) -> None:
    """WAL lets readers work beside one writer; a commit survives a killed process."""
    if isinstance(record.driver_connection, aiosqlite.Connection):
        opened.add(record.driver_connection)
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


StoreError = SQLAlchemyError
