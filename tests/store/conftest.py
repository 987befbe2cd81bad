"""A fresh SQLite file and a fresh PostgreSQL database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from tests.conftest import skip_or_fail

ADMIN = "postgresql://root@127.0.0.1:5432/postgres"


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[str]:
    """Setting of an empty database that is dropped afterwards."""
    if request.param == "sqlite":
        yield str(tmp_path / "store.db")
        return
    name = f"rasa_react_ext_test_{uuid4().hex}"
    try:
        admin = await asyncpg.connect(ADMIN)
    except OSError as error:
        skip_or_fail(f"PostgreSQL is not here: {error}")
    await admin.execute(f'CREATE DATABASE "{name}"')
    try:
        yield f"postgresql://root@127.0.0.1:5432/{name}"
    finally:
        await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        await admin.close()
