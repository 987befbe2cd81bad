"""A closed door for each test."""

from __future__ import annotations

import pytest

from tests.host.channels.agent import Door, door


@pytest.fixture(name="door")
async def _door() -> Door:
    """The door, closed, with nothing heard."""
    door.renew()
    return door
