"""Servers that restart, die, hang or refuse, and calls that are abandoned."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter

import pytest

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import Pool, PooledTools, PoolEvent, ServerSpec
from tests.mcp_pool.mcp_server import Scope, Send, Served, answers
from tests.mcp_pool.steps import named, until


async def test_b52_a_restarted_server_is_not_noticed_by_the_caller(
    server: Served, tools: PooledTools, context: CallContext, done: Counter[str]
) -> None:
    order = await named(tools, "order")
    assert (await tools.call(order, {"item": "a"}, context)).text == "ordered a"
    await asyncio.to_thread(server.restart)
    assert (await tools.call(order, {"item": "b"}, context)).text == "ordered b"
    assert server.seen["initialize"] == 2
    assert done == {"order a": 1, "order b": 1}


async def test_b52_a_404_without_a_session_is_reported_as_a_wrong_address(
    server: Served, pool: Pool
) -> None:
    tools = PooledTools(pool, ServerSpec(name="shop", url=server.url + "/nowhere"))
    assert await tools.tools() == ()
    assert "HTTP 404" in tools.missing()[0]
    assert "check the url" in tools.missing()[0]


async def test_b54_parallel_calls_share_one_reconnect(
    server: Served, tools: PooledTools, context: CallContext, done: Counter[str]
) -> None:
    order = await named(tools, "order")
    await asyncio.to_thread(server.restart)
    results = await asyncio.gather(
        *(tools.call(order, {"item": str(n)}, context) for n in range(5))
    )
    assert [result.text for result in results] == [f"ordered {n}" for n in range(5)]
    assert server.seen["initialize"] == 2
    assert set(done.values()) == {1}


async def test_b54_a_call_the_user_abandoned_is_not_repeated(
    server: Served, tools: PooledTools, context: CallContext, done: Counter[str]
) -> None:
    slow = await named(tools, "slow")
    call = asyncio.create_task(tools.call(slow, {"seconds": 30}, context))
    await until(lambda: done["slow started"])
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.to_thread(server.restart)
    assert (await tools.call(await named(tools, "echo"), {"text": "x"}, context)).text == "x"
    assert done["slow started"] == 1


@pytest.mark.parametrize("name", ["order", "echo"])
async def test_b56_a_server_that_dies_during_a_call_is_a_lost_connection_not_a_slow_tool(
    server: Served, tools: PooledTools, context: CallContext, name: str
) -> None:
    tool = await named(tools, name)
    arguments = {"item": "a"} if name == "order" else {"text": "a"}

    async def die(message: dict[str, object], scope: Scope, send: Send) -> bool:
        if message.get("method") == "tools/call":
            await send(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": [(b"content-type", b"text/event-stream")],
                }
            )
            await send({"type": "http.response.body", "body": b": hello\n\n"})
            server.fault = None
            return True
        return False

    server.fault = die
    result = await tools.call(tool, arguments, context)
    if name == "echo":
        assert result.text == "a", "a read-only tool is called again"
    else:
        assert result.is_error
        assert result.outcome_unknown
        assert "connection lost" in result.text
        assert "no answer within" not in result.text
    server.fault = None
    assert not (await tools.call(tool, arguments, context)).is_error


async def test_b56_a_tool_list_that_is_cut_off_is_read_again(
    server: Served, tools: PooledTools, reported: list[PoolEvent]
) -> None:
    async def drop(message: dict[str, object], scope: Scope, send: Send) -> bool:
        if message.get("method") != "tools/list":
            return False
        server.fault = None
        raise ConnectionAbortedError

    server.fault = drop
    await named(tools, "order")
    assert server.seen["tools/list"] == 2
    assert not [event for event in reported if event.kind == "tools_refresh_failed"]


async def test_b56_a_call_has_a_deadline_whatever_the_server_does(
    tools: PooledTools, done: Counter[str]
) -> None:
    slow = await named(tools, "slow")
    result = await tools.call(slow, {"seconds": 30}, CallContext(call_id="c", timeout_seconds=0.3))
    assert result.is_error
    assert "no answer within 0.3 s" in result.text


async def test_b58_a_lost_call_of_a_tool_with_effects_is_not_repeated(
    server: Served, tools: PooledTools, context: CallContext, done: Counter[str]
) -> None:
    order = await named(tools, "order")
    calls = 0

    async def commit_and_drop(message: dict[str, object], scope: Scope, send: Send) -> bool:
        nonlocal calls
        if message.get("method") != "tools/call":
            return False
        calls += 1
        raise ConnectionAbortedError

    server.fault = commit_and_drop
    result = await tools.call(order, {"item": "a"}, context)
    assert calls == 1
    assert result.outcome_unknown
    assert "outcome is unknown" in result.text
    server.fault = None
    assert (await tools.call(order, {"item": "b"}, context)).text == "ordered b"


@pytest.mark.parametrize(
    "refusal",
    [
        (400, False, "HTTP 400: bad thing"),
        (401, False, "check the credentials"),
        (403, False, "lack the right"),
        (429, False, "limits the rate"),
        (503, True, "HTTP 503"),
    ],
)
async def test_a_refused_call_costs_that_call_only(
    server: Served, tools: PooledTools, context: CallContext, refusal: tuple[int, bool, str]
) -> None:
    status, unknown, words = refusal
    order = await named(tools, "order")
    slow = await named(tools, "slow")
    body = json.dumps({"error": {"code": 1, "message": "bad thing"}}).encode()
    sibling = asyncio.create_task(tools.call(slow, {"seconds": 0.5}, context))
    await until(lambda: server.seen["tools/call"])
    server.fault = answers(status, body)
    result = await tools.call(order, {"item": "a"}, context)
    assert result.is_error
    assert result.outcome_unknown is unknown
    assert words in result.text
    assert (await sibling).text == "late"
    server.fault = None
    assert (await tools.call(order, {"item": "b"}, context)).text == "ordered b"
    assert server.seen["initialize"] == 1


async def test_a_400_that_speaks_of_the_session_opens_a_new_one(
    server: Served, tools: PooledTools, context: CallContext
) -> None:
    order = await named(tools, "order")
    refuse = answers(400, b'{"error": {"message": "No valid session ID provided"}}')

    async def once(message: dict[str, object], scope: Scope, send: Send) -> bool:
        answered = await refuse(message, scope, send)
        if answered:
            server.fault = None
        return answered

    server.fault = once
    assert (await tools.call(order, {"item": "a"}, context)).text == "ordered a"
    assert server.seen["initialize"] == 2


async def test_b60_an_abandoned_call_is_called_off_at_the_server(
    server: Served, tools: PooledTools, context: CallContext, done: Counter[str]
) -> None:
    slow = await named(tools, "slow")
    call = asyncio.create_task(tools.call(slow, {"seconds": 60}, context))
    await until(lambda: done["slow started"])
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: done["slow cancelled"])
    (notice,) = [n for n in server.notices if n["method"] == "notifications/cancelled"]
    assert notice["params"]["requestId"] is not None
    assert (await tools.call(await named(tools, "echo"), {"text": "x"}, context)).text == "x"


async def test_b63_a_server_that_comes_up_later_is_found(
    server: Served, pool: Pool, reported: list[PoolEvent]
) -> None:
    server.stop()
    tools = PooledTools(pool, ServerSpec(name="shop", url=server.url, max_retries=0))
    assert await tools.tools() == ()
    assert "shop: cannot connect" in tools.missing()[0]
    await asyncio.to_thread(server.start)
    await until(lambda: tools.state().status == "ready")
    assert await tools.tools()
    assert tools.missing() == ()
    assert [event.kind for event in reported] == ["down", "connected"]


async def test_b63_a_server_lost_in_a_conversation_is_named_and_costs_no_time(
    server: Served, pool: Pool, tools: PooledTools, context: CallContext
) -> None:
    echo = await named(tools, "echo")
    await asyncio.to_thread(server.stop)
    result = await tools.call(echo, {"text": "x"}, context)
    assert result.is_error
    assert "not run" in result.text
    assert await tools.tools() == ()
    assert tools.missing()


async def test_a_server_that_hangs_while_connecting_holds_nobody_up_for_long(pool: Pool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # accepts and says nothing
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/mcp"
        tools = PooledTools(pool, ServerSpec(name="mute", url=url, connect_timeout_seconds=0.3))
        async with asyncio.timeout(3):
            assert await tools.tools() == ()
        assert "answer" in tools.missing()[0]
        await pool.aclose()
