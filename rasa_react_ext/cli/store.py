"""Opens a project's store for a command, and says in one message why it cannot."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rasa_react_ext.cli.failure import RefusedError
from rasa_react_ext.errors import ConfigurationError, PeerError

if TYPE_CHECKING:
    from rasa_react_ext.host.place import Place
    from rasa_react_ext.store import Database

__all__ = ["opened_store", "store_option"]

REACH_SECONDS = 15.0
_REFUSED = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")


def store_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--store`, the same for every command that reads the store."""
    return click.option(
        "--store",
        metavar="URL",
        help="Database or SQLite file. Default: `rasa_react_ext: store` of endpoints.yml.",
    )(function)


@asynccontextmanager
async def opened_store(setting: str | None) -> AsyncGenerator[Database]:
    """The store, reached and up to date, while the block runs.

    Args:
        setting: What `--store` says; None for the project in this folder.

    Raises:
        ConfigurationError: There is no such store, or its driver is not installed.
        RefusedError: The system does not let its file be written.
        PeerError: The database does not answer, or breaks off.
    """
    from sqlalchemy.exc import SQLAlchemyError

    from rasa_react_ext.store import Database

    if setting is None:
        configured = _configured()
        is_usual, database = configured.is_usual, Database(configured.store)
        place = ("endpoints.yml", "rasa_react_ext: store")
    else:
        is_usual, database = False, _named(setting)
        place = ("command line", "--store")
    _check_file(database, *place, is_usual=is_usual)
    try:
        await _reach(database)
        yield database
    except (SQLAlchemyError, OSError) as error:
        raise _unreachable(database, error) from error
    finally:
        await database.aclose()


def _configured() -> Place:
    from rasa_react_ext.host.place import read_place

    return read_place(Path("endpoints.yml"))


def _named(setting: str) -> Database:
    from rasa_react_ext.store import Database

    try:
        return Database(setting)
    except ConfigurationError as error:
        raise ConfigurationError(
            file="command line", key="--store", problem=error.problem, fix=error.fix
        ) from error


def _check_file(database: Database, file: str, key: str, *, is_usual: bool) -> None:
    """A command that looks must not make an empty store and find nothing in it."""
    url = database.url
    if url.get_backend_name() != "sqlite" or Path(url.database or "").is_file():
        return
    if Path(url.database or "").is_dir():
        raise ConfigurationError(
            file=file,
            key=key,
            problem=f"{url.database!r} is a folder.",
            fix="Name the SQLite file in it, or the address of a database.",
        )
    usual = " That is the usual place, because the key is not set." if is_usual else ""
    raise ConfigurationError(
        file=file,
        key=key,
        problem=f"there is no store at {url.database!r} yet.{usual}",
        fix="Run this in the project's folder after the assistant has run, or name the store "
        "with --store.",
    )


async def _reach(database: Database) -> None:
    try:
        async with asyncio.timeout(REACH_SECONDS), database.transaction():
            pass
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            file="environment",
            key=str(error.name),
            problem="the driver of this database is not installed.",
            fix="Install rasa-react-ext[postgresql].",
        ) from error
    except Exception as error:
        # Drivers raise their own kinds while they connect.
        raise _unreachable(database, error) from error


def _unreachable(database: Database, error: BaseException) -> Exception:
    cause = getattr(error, "orig", None) or error
    name, file = getattr(cause, "sqlite_errorname", ""), database.url.database
    if name == "SQLITE_NOTADB":
        return ConfigurationError(
            file=str(file),
            key="",
            problem="this is no SQLite database.",
            fix="Name the file of the store, as `rasa_react_ext: store` of endpoints.yml does.",
        )
    if name.startswith(_REFUSED):
        refusal = OSError(errno.EACCES, os.strerror(errno.EACCES))
        return RefusedError(
            file,
            refusal,
            "Run this as the user of the assistant, or allow the file and its folder.",
        )
    words = " ".join(str(cause).split())[:200] or type(cause).__name__
    url = database.url
    where = url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True)
    return PeerError(
        "store",
        f"The store at {where} cannot be used: {words.rstrip('.')}. "
        "Check that the database runs and that the address is right.",
    )
