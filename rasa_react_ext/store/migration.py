"""Brings a database's schema up to date (alembic, revisions under `migrations/`)."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

__all__ = ["migrate"]

VERSION_TABLE = "rasa_react_ext_version"
_LOCK_KEY = 7_262_417


def migrate(connection: Connection) -> None:
    """Apply all missing revisions; several processes may call this at once.

    Args:
        connection: A connection; the caller commits.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
    else:
        connection.execute(text("BEGIN IMMEDIATE"))
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
