"""Servers over the older HTTP+SSE transport."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import Pool, PooledTools, ServerSpec
from tests.mcp_pool.mcp_server import Served, answers, serving, shop
from tests.mcp_pool.steps import named, until


@pytest.fixture
def server(done: Counter[str]) -> Iterator[Served]:
    with serving(lambda: shop(done).sse_app(), "/sse") as served:
        yield served


@pytest.fixture
def spec(server: Served) -> ServerSpec:
    return ServerSpec(name="shop", transport="sse", url=server.url)


async def test_tools_are_listed_and_called(tools: PooledTools, context: CallContext) -> None:
    result = await tools.call(await named(tools, "echo"), {"text": "日本"}, context)
    assert result.text == "日本"


async def test_calls_run_side_by_side(tools: PooledTools, done: Counter[str]) -> None:
    echo = await named(tools, "echo")
    context = CallContext(call_id="c", timeout_seconds=60)
    results = await asyncio.gather(
        *(tools.call(echo, {"text": str(number)}, context) for number in range(50))
    )
    assert [result.text for result in results] == [str(number) for number in range(50)]


async def test_b56_a_stream_that_ends_answers_calls_in_flight_and_is_opened_anew(
    server: Served, tools: PooledTools, context: CallContext, done: Counter[str]
) -> None:
    order = await named(tools, "order")

    async def swallow(message: dict[str, object], scope: object, send: object) -> bool:
        return False

    slow = await named(tools, "slow")
    call = asyncio.create_task(tools.call(slow, {"seconds": 60}, context))
    await until(lambda: done["slow started"])
    await asyncio.to_thread(server.stop)
    result = await call
    assert result.is_error
    await asyncio.to_thread(server.start)
    await until(lambda: tools.state().status in {"ready", "lost"})
    assert (await tools.call(order, {"item": "a"}, context)).text == "ordered a"


async def test_a_refused_post_costs_that_call_only(
    server: Served, tools: PooledTools, context: CallContext
) -> None:
    order = await named(tools, "order")
    server.fault = answers(403)
    result = await tools.call(order, {"item": "a"}, context)
    assert "HTTP 403" in result.text
    assert not result.outcome_unknown
    server.fault = None
    assert (await tools.call(order, {"item": "b"}, context)).text == "ordered b"
    assert server.seen["initialize"] == 1


async def test_b60_an_abandoned_call_is_called_off(
    server: Served, tools: PooledTools, context: CallContext, done: Counter[str]
) -> None:
    slow = await named(tools, "slow")
    call = asyncio.create_task(tools.call(slow, {"seconds": 60}, context))
    await until(lambda: done["slow started"])
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: done["slow cancelled"])


@pytest.mark.parametrize("path", ["/nowhere", "/messages/"])
async def test_an_address_that_is_no_stream_is_named(server: Served, pool: Pool, path: str) -> None:
    url = server.url.replace("/sse", path)
    tools = PooledTools(pool, ServerSpec(name="shop", transport="sse", url=url))
    assert await tools.tools() == ()
    assert "HTTP 40" in tools.missing()[0]
    assert "check the url" in tools.missing()[0]
