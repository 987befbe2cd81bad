"""Listing and calling over streamable HTTP."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from rasa_react_ext.engine.tool import CallContext, Tool
from rasa_react_ext.mcp_pool import Pool, PooledTools, ServerSpec
from tests.mcp_pool.mcp_server import Served
from tests.mcp_pool.steps import named, until


async def test_tools_are_listed_with_schema_and_annotations(tools: PooledTools) -> None:
    echo = await named(tools, "echo")
    assert echo.origin == "shop"
    assert echo.read_only
    assert echo.repeatable
    assert echo.parameters["properties"]["text"]["type"] == "string"
    assert not (await named(tools, "order")).repeatable
    assert tools.missing() == ()
    assert tools.state().status == "ready"


async def test_a_call_is_answered(tools: PooledTools, context: CallContext) -> None:
    result = await tools.call(await named(tools, "echo"), {"text": "grüße 日本"}, context)
    assert (result.text, result.is_error) == ("grüße 日本", False)


async def test_calls_share_one_session_and_few_connections(
    server: Served, tools: PooledTools, context: CallContext
) -> None:
    echo = await named(tools, "echo")
    for number in range(20):
        result = await tools.call(echo, {"text": str(number)}, context)
        assert result.text == str(number)
    assert server.seen["initialize"] == 1
    assert server.seen["tools/list"] == 1
    assert server.seen["ping"] == 0
    assert len(server.connections) <= 3


async def test_two_hundred_calls_at_once_are_each_answered_with_their_own_result(
    tools: PooledTools, server: Served
) -> None:
    echo = await named(tools, "echo")
    context = CallContext(call_id="c", timeout_seconds=60)
    results = await asyncio.gather(
        *(tools.call(echo, {"text": f"n{number}"}, context) for number in range(200))
    )
    assert [result.text for result in results] == [f"n{number}" for number in range(200)]
    assert server.seen["initialize"] == 1


async def test_ten_agents_with_the_same_server_and_credentials_share_a_session(
    pool: Pool, spec: ServerSpec, server: Served, context: CallContext
) -> None:
    agents = [PooledTools(pool, replace(spec, name=f"agent {n}")) for n in range(10)]
    await asyncio.gather(*(agent.tools() for agent in agents))
    assert server.seen["initialize"] == 1
    assert server.seen["tools/list"] == 1


async def test_other_credentials_get_a_session_of_their_own(
    pool: Pool, spec: ServerSpec, server: Served
) -> None:
    await PooledTools(pool, spec).tools()
    await PooledTools(pool, replace(spec, headers={"x-api-key": "other"})).tools()
    assert server.seen["initialize"] == 2


def test_a_pool_survives_a_change_of_event_loop(
    server: Served, spec: ServerSpec, context: CallContext, done: Counter[str]
) -> None:
    pool = Pool()
    tools = PooledTools(pool, spec)

    async def use(*, close: bool) -> str:
        result = await tools.call(await named(tools, "echo"), {"text": "hi"}, context)
        if close:
            await pool.aclose()
        return result.text

    assert asyncio.run(use(close=False)) == "hi"
    assert asyncio.run(use(close=True)) == "hi"
    assert server.seen["initialize"] == 2


async def test_closing_ends_the_session_at_the_server_and_may_be_repeated(
    pool: Pool, tools: PooledTools, server: Served
) -> None:
    await tools.tools()
    await pool.aclose()
    await pool.aclose()
    assert server.seen["DELETE"] == 1
    assert await tools.tools(), "a closed pool opens again at the next use"


async def test_closing_answers_calls_in_flight(
    pool: Pool, tools: PooledTools, done: Counter[str]
) -> None:
    slow = await named(tools, "slow")
    call = asyncio.create_task(
        tools.call(slow, {"seconds": 30}, CallContext(call_id="c", timeout_seconds=60))
    )
    await until(lambda: done["slow started"])
    await pool.aclose()
    async with asyncio.timeout(5):
        result = await call
    assert result.is_error


async def test_metadata_of_the_call_reaches_the_server_in_meta(
    tools: PooledTools, server: Served
) -> None:
    seen: list[dict[str, object]] = []

    async def look(message, scope, send) -> bool:
        if message.get("method") == "tools/call":
            seen.append(message["params"]["_meta"])
        return False

    server.fault = look
    context = CallContext(call_id="c", timeout_seconds=10, meta={"tenant": "blue"})
    await tools.call(await named(tools, "echo"), {"text": "x"}, context)
    assert seen == [{"tenant": "blue"}]


@pytest.mark.parametrize("odd", [{"progressToken": {}}, {"tenant": object()}])
async def test_metadata_that_cannot_be_sent_is_an_error_and_the_call_is_not_run(
    tools: PooledTools, odd: dict[str, object], done: Counter[str]
) -> None:
    context = CallContext(call_id="c", timeout_seconds=10, meta=odd)
    result = await tools.call(await named(tools, "order"), {"item": "a"}, context)
    assert result.is_error
    assert not result.outcome_unknown
    assert "cannot be sent" in result.text
    assert done == {}


async def test_an_unknown_tool_is_an_error_of_the_server(
    tools: PooledTools, context: CallContext
) -> None:
    result = await tools.call(Tool(name="x", description="", parameters={}), {}, context)
    assert result.is_error
    assert "Unknown tool" in result.text


async def test_optional_arguments_that_are_null_are_not_sent(
    server: Served, tools: PooledTools, context: CallContext
) -> None:
    sent: list[dict[str, object]] = []

    async def look(message, scope, send) -> bool:
        if message.get("method") == "tools/call":
            sent.append(message["params"]["arguments"])
        return False

    server.fault = look
    await tools.call(await named(tools, "echo"), {"text": "x", "more": None}, context)
    assert sent == [{"text": "x"}]


async def test_an_unreachable_server_has_no_tools_and_is_named_with_its_reason(
    pool: Pool, free_port, context: CallContext
) -> None:
    spec = ServerSpec(name="gone", url=f"http://127.0.0.1:{free_port()}/mcp", max_retries=0)
    tools = PooledTools(pool, spec)
    assert await tools.tools() == ()
    (missing,) = tools.missing()
    assert missing.startswith("gone: cannot connect")
    assert tools.state().status == "down"
    result = await tools.call(Tool(name="x", description="", parameters={}), {}, context)
    assert result.is_error
    assert not result.outcome_unknown
    assert "not run" in result.text


@pytest.mark.parametrize("bad", [{"url": "ftp://x"}, {"transport": "stdio"}, {"max_retries": -1}])
def test_a_specification_that_cannot_work_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="MCP server 's'"):
        ServerSpec(**{"name": "s", "url": "http://x", **bad})
