"""Servers over the older HTTP+SSE transport."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import Pool, PooledTools, ServerSpec
from tests.mcp_pool.mcp_server import (
    EVENTS,
    Asgi,
    Receive,
    Scope,
    Send,
    Served,
    answers,
    respond,
    serving,
    shop,
)
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


class Stream:
    """An SSE server written out by hand; `post` says what happens to messages."""

    def __init__(self, address: str = "/messages") -> None:
        self.address = address
        self.post = 202
        self.events: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.loop: asyncio.AbstractEventLoop

    def app(self) -> Asgi:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return
            if scope["method"] == "POST":
                message = json.loads((await receive())["body"])
                await self._take(message, send)
                return
            self.loop = asyncio.get_running_loop()
            await respond(send, 200, b"", EVENTS, more=True)
            if self.address:
                await event(send, "endpoint", self.address)
            while (data := await self.events.get()) is not None:
                await event(send, "message", data.decode())
            await send({"type": "http.response.body", "body": b""})

        return app

    async def _take(self, message: dict[str, Any], send: Send) -> None:
        method = message.get("method")
        if method == "tools/call" and self.post != 202:
            await respond(send, self.post)
            return
        await respond(send, 202)
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2024-11-05",
                "capabilities": {},
                "serverInfo": {"name": "s", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "t", "inputSchema": {}}]},
        }
        if method in results:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": results[method]}
            self.events.put_nowait(json.dumps(answer).encode())

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.events.put_nowait, None)


async def event(send: Send, name: str, data: str) -> None:
    body = f"event: {name}\ndata: {data}\n\n".encode()
    await send({"type": "http.response.body", "body": body, "more_body": True})


@contextmanager
def streaming(stream: Stream) -> Iterator[ServerSpec]:
    with serving(stream.app, "/sse") as served:
        yield ServerSpec(name="s", transport="sse", url=served.url, max_retries=0)


@pytest.mark.parametrize(
    ("address", "words"),
    [("http://elsewhere.invalid/x", "on another host"), ("", "names no address")],
)
async def test_a_stream_without_a_usable_address_is_refused(
    pool: Pool, address: str, words: str
) -> None:
    stream = Stream(address)
    if not address:
        stream.events.put_nowait(None)
    with streaming(stream) as spec:
        tools = PooledTools(pool, spec)
        assert await tools.tools() == ()
        assert words in tools.missing()[0]
        await pool.aclose()


async def test_b56_a_stream_that_ends_by_itself_loses_calls_in_flight(pool: Pool) -> None:
    stream = Stream()
    with streaming(stream) as spec:
        tools = PooledTools(pool, spec)
        tool = await named(tools, "t")
        context = CallContext(call_id="c", timeout_seconds=10)
        call = asyncio.create_task(tools.call(tool, {}, context))
        await asyncio.sleep(0.2)
        stream.end()
        result = await call
        assert result.outcome_unknown
        assert "the server closed the stream" in result.text
        await pool.aclose()


async def test_b52_a_post_of_an_unknown_session_opens_a_new_one(pool: Pool) -> None:
    stream = Stream()
    with streaming(stream) as spec:
        tools = PooledTools(pool, spec)
        tool = await named(tools, "t")
        stream.post = 404
        context = CallContext(call_id="c", timeout_seconds=10)
        result = await tools.call(tool, {}, context)
        assert "no longer knows the session" in result.text
        assert not result.outcome_unknown
        assert tools.state().status == "lost"
        stream.end()
        await pool.aclose()
