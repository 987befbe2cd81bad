"""Fixtures of the pool's tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import Pool, PooledTools, PoolEvent, ServerSpec
from tests.mcp_pool.mcp_server import Served, serving, shop


@pytest.fixture
def done() -> Counter[str]:
    """What the tools of the shop did."""
    return Counter()


@pytest.fixture
def server(done: Counter[str]) -> Iterator[Served]:
    """The shop over streamable HTTP."""
    with serving(lambda: shop(done).streamable_http_app()) as served:
        yield served


@pytest.fixture
def reported() -> list[PoolEvent]:
    """What the pool reported."""
    return []


@pytest.fixture
async def pool(reported: list[PoolEvent]) -> AsyncIterator[Pool]:
    """A pool that is closed after the test."""
    async with Pool(reported.append) as pool:
        yield pool


@pytest.fixture
def spec(server: Served) -> ServerSpec:
    """How the shop is reached."""
    return ServerSpec(name="shop", url=server.url, connect_timeout_seconds=5)


@pytest.fixture
def tools(pool: Pool, spec: ServerSpec) -> PooledTools:
    """The tools of the shop."""
    return PooledTools(pool, spec)


@pytest.fixture
def context() -> CallContext:
    """A call with a limit that is never reached."""
    return CallContext(call_id="c1", timeout_seconds=10)
