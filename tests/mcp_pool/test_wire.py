"""The streamable HTTP transport against servers that use the odd corners of the protocol."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.fastmcp import FastMCP

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import Pool, PooledTools, PoolEvent, ServerSpec, streamable_http
from rasa_react_ext.mcp_pool.event_stream import Decoder, Event
from tests.mcp_pool.mcp_server import (
    EVENTS,
    JSON,
    Asgi,
    Receive,
    Scope,
    Send,
    Served,
    respond,
    serving,
    shop,
)
from tests.mcp_pool.steps import named, until

Handler = Callable[["Odd", Scope, dict[str, Any], Send], Awaitable[bool]]


class Odd:
    """A server written out by hand: `handle` may answer, the rest is the plain protocol."""

    def __init__(self, handle: Handler) -> None:
        self.handle = handle
        self.gets: list[dict[str, str]] = []
        self.get_times: list[float] = []
        self.call_id: Any = None
        self.session = True

    def app(self) -> Asgi:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return
            event = await receive() if scope["method"] == "POST" else {}
            message = json.loads(event.get("body") or b"{}")
            if scope["method"] == "GET":
                headers = {key.decode(): value.decode() for key, value in scope["headers"]}
                self.gets.append(headers)
                self.get_times.append(time.monotonic())
            if message.get("method") == "tools/call":
                self.call_id = message["id"]
            if not await self.handle(self, scope, message, send):
                await self.plain(scope, message, send)

        return app

    async def plain(self, scope: Scope, message: dict[str, Any], send: Send) -> None:
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": "answer"}]},
        }
        method = message.get("method")
        if method in results:
            body = {"jsonrpc": "2.0", "id": message["id"], "result": results[method]}
            session = [(b"mcp-session-id", b"s1")] if self.session else []
            await respond(send, 200, json.dumps(body).encode(), JSON, *session)
        else:
            await respond(send, 405 if scope["method"] == "GET" else 202)

    @property
    def answer(self) -> bytes:
        content = [{"type": "text", "text": "answer"}]
        body = {"jsonrpc": "2.0", "id": self.call_id, "result": {"content": content}}
        return b"event: message\ndata: " + json.dumps(body).encode() + b"\n\n"


async def call_odd(
    pool: Pool, handle: Handler, timeout: float = 10, **odd: Any
) -> tuple[Any, Odd, Served]:
    """Call the tool of an odd server once."""
    server = Odd(handle)
    for name, value in odd.items():
        setattr(server, name, value)
    with serving(server.app) as served:
        tools = PooledTools(pool, ServerSpec(name="odd", url=served.url, max_retries=0))
        tool = await named(tools, "t")
        context = CallContext(call_id="c", timeout_seconds=timeout)
        result = await tools.call(tool, {}, context)
        await pool.aclose()
        return result, server, served


async def test_a_stream_that_ends_early_is_resumed_where_it_ended(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") == "tools/call":
            await respond(send, 200, b"id: e1\nretry: 200\ndata:\n\n", EVENTS)
            odd.closed = time.monotonic()
            return True
        if scope["method"] == "GET" and odd.call_id is not None:
            await respond(send, 200, odd.answer, EVENTS)
            return True
        return False

    result, odd, _ = await call_odd(pool, handle)
    assert result.text == "answer"
    assert odd.gets[-1]["last-event-id"] == "e1"
    assert odd.get_times[-1] - odd.closed >= 0.19


async def test_a_stream_that_can_never_be_resumed_is_a_lost_connection(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") == "tools/call" or odd.call_id is not None:
            await respond(send, 200, b"id: e1\nretry: 1\ndata:\n\n", EVENTS)
            return True
        return False

    result, _, _ = await call_odd(pool, handle)
    assert result.outcome_unknown
    assert "without an answer" in result.text


async def test_an_answer_whose_stream_stays_open_is_taken_at_once(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") != "tools/call":
            return False
        await respond(send, 200, odd.answer, EVENTS, more=True)
        await asyncio.sleep(30)
        return True

    began = time.monotonic()
    result, _, _ = await call_odd(pool, handle)
    assert result.text == "answer"
    assert time.monotonic() - began < 8


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"<html>", (b"content-type", b"text/html"), "content type 'text/html'"),
        (b"{", JSON, "without an answer"),
        (b"data: nonsense\n\n", EVENTS, "without an answer"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "x"}', JSON, "without an answer"),
    ],
)
async def test_an_answer_that_is_none_is_a_lost_call(
    pool: Pool, body: bytes, kind: tuple[bytes, bytes], words: str
) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") == "tools/call":
            await respond(send, 200, body, kind)
            return True
        return False

    result, _, _ = await call_odd(pool, handle)
    assert result.outcome_unknown
    assert words in result.text


@pytest.mark.parametrize("kind", [EVENTS, JSON])
async def test_an_answer_larger_than_memory_allows_is_not_read_on(
    pool: Pool, kind: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streamable_http, "MAX_MESSAGE_BYTES", 100_000)

    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") != "tools/call":
            return False
        await respond(send, 200, b"data: ", kind, more=True)
        for _ in range(200):
            body = {"type": "http.response.body", "body": b"x" * 1_000, "more_body": True}
            await send(body)
        return True

    result, _, _ = await call_odd(pool, handle)
    assert result.outcome_unknown
    assert "too large" in result.text


async def test_a_result_of_the_wrong_shape_is_a_lost_call(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") == "tools/call":
            body = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": "text"}}
            await respond(send, 200, json.dumps(body).encode(), JSON)
            return True
        return False

    result, _, _ = await call_odd(pool, handle)
    assert result.outcome_unknown
    assert "not a tool result" in result.text


async def test_an_answer_followed_by_a_broken_connection_is_an_answer(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") != "tools/call":
            return False
        await respond(send, 200, odd.answer, EVENTS, more=True)
        raise ConnectionAbortedError

    result, _, _ = await call_odd(pool, handle)
    assert result.text == "answer"


async def test_a_stream_without_a_pause_of_the_server_is_resumed_after_one_of_ours(
    pool: Pool,
) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") == "tools/call":
            await respond(send, 200, b"id: e1\ndata:\n\n", EVENTS)
            return True
        if scope["method"] == "GET" and odd.call_id is not None:
            if len(odd.gets) < 4:
                await respond(send, 503)
            else:
                await respond(send, 200, odd.answer, EVENTS)
            return True
        return False

    result, _, _ = await call_odd(pool, handle)
    assert result.text == "answer"


async def test_a_server_without_sessions_is_never_asked_for_a_stream_or_an_end(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        return False

    result, odd, served = await call_odd(pool, handle, session=False)
    assert result.text == "answer"
    assert odd.gets == []
    assert served.seen["DELETE"] == 0


async def test_every_request_of_a_session_names_session_and_version(pool: Pool) -> None:
    seen: list[tuple[str, dict[str, str]]] = []

    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        seen.append((message.get("method", scope["method"]), headers))
        return False

    await call_odd(pool, handle)
    assert seen[0][0] == "initialize"
    assert "mcp-session-id" not in seen[0][1]
    for _, headers in seen[1:]:
        assert headers["mcp-session-id"] == "s1"
        assert headers["mcp-protocol-version"] == "2025-06-18"


@pytest.mark.parametrize(
    ("target", "reached"),
    [("/moved", True), ("http://elsewhere.invalid/mcp", False), ("http://u:p@{host}/x", False)],
)
async def test_a_redirect_is_followed_only_to_the_same_origin(
    pool: Pool, target: str, reached: bool
) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if scope["path"] == "/mcp":
            host = dict(scope["headers"])[b"host"].decode()
            await respond(send, 307, b"", (b"location", target.format(host=host).encode()))
            return True
        return False

    odd = Odd(handle)
    with serving(odd.app) as served:
        tools = PooledTools(pool, ServerSpec(name="odd", url=served.url, max_retries=0))
        assert bool(await tools.tools()) is reached
        if not reached:
            assert "set url to the final address" in tools.missing()[0]
        await pool.aclose()


async def test_a_redirect_in_circles_is_given_up(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        await respond(send, 308, b"", (b"location", b"/mcp"))
        return True

    with serving(Odd(handle).app) as served:
        tools = PooledTools(pool, ServerSpec(name="odd", url=served.url, max_retries=0))
        assert await tools.tools() == ()
        assert "too many redirects" in tools.missing()[0]


async def test_the_stream_of_server_messages_is_opened_again_and_goes_on_where_it_was(
    pool: Pool,
) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if scope["method"] != "GET":
            return False
        number = len(odd.gets)
        await respond(send, 200, b"id: g%d\nretry: 10\ndata:\n\n" % number, EVENTS)
        return True

    odd = Odd(handle)
    with serving(odd.app) as served:
        tools = PooledTools(pool, ServerSpec(name="odd", url=served.url))
        await tools.tools()
        await until(lambda: len(odd.gets) >= 3)
        assert [headers.get("last-event-id") for headers in odd.gets[:3]] == [None, "g1", "g2"]
        await pool.aclose()


async def test_a_server_that_forgot_the_session_is_noticed_without_a_call(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if scope["method"] != "GET":
            return False
        await respond(send, 404)
        return True

    with serving(Odd(handle).app) as served:
        tools = PooledTools(pool, ServerSpec(name="odd", url=served.url))
        await tools.tools()
        await until(lambda: tools.state().status == "lost")
        await pool.aclose()


async def test_a_tool_without_a_valid_definition_costs_no_other(
    pool: Pool, reported: list[PoolEvent]
) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") != "tools/list":
            return False
        tools = [{"name": "bad"}, "odd", {"name": "good", "inputSchema": {}}]
        body = {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": tools}}
        await respond(send, 200, json.dumps(body).encode(), JSON)
        return True

    with serving(Odd(handle).app) as served:
        tools = PooledTools(pool, ServerSpec(name="odd", url=served.url))
        assert [tool.name for tool in await tools.tools()] == ["good"]
        await pool.aclose()
    assert [event.kind for event in reported].count("tools_bounded") == 2


async def test_an_unsupported_protocol_version_is_named(pool: Pool) -> None:
    async def handle(odd: Odd, scope: Scope, message: dict[str, Any], send: Send) -> bool:
        if message.get("method") != "initialize":
            return False
        result = {"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {}}
        result["serverInfo"] = {"name": "old", "version": "1"}
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        await respond(send, 200, json.dumps(body).encode(), JSON)
        return True

    with serving(Odd(handle).app) as served:
        tools = PooledTools(pool, ServerSpec(name="odd", url=served.url, max_retries=0))
        assert await tools.tools() == ()
        assert "1999-01-01" in tools.missing()[0]


class TestOtherModes:
    """The shop with plain JSON answers and without sessions."""

    @pytest.fixture(params=["json", "stateless"])
    def server(self, done: Counter[str], request: pytest.FixtureRequest) -> Iterator[Served]:
        def build() -> Asgi:
            server: FastMCP = shop(done)
            server.settings.json_response = request.param == "json"
            server.settings.stateless_http = request.param == "stateless"
            return server.streamable_http_app()

        with serving(build) as served:
            yield served

    async def test_calls_are_answered_and_connections_used_again(
        self, server: Served, tools: PooledTools, context: CallContext
    ) -> None:
        echo = await named(tools, "echo")
        for number in range(10):
            result = await tools.call(echo, {"text": str(number)}, context)
            assert result.text == str(number)
        assert len(server.connections) <= 3


STREAM = (
    b": comment\r\n\r\nevent: endpoint\ndata: /x\n\n"
    b"id: 1\nretry: 50\ndata:\n\ndata: a\ndata: \xe6\x97\xa5\n\n"
    b"id\nretry: x\nodd: y\ndata:b\r\n\r\n"
)
DECODED = [
    Event(name="endpoint", data="/x"),
    Event(id="1", retry_ms=50),
    Event(data="a\n日", id="1"),
    Event(data="b"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    decoder, found, edges = Decoder(), [], sorted({0, *cuts, len(STREAM)})
    for start, end in pairwise(edges):
        found += list(decoder.feed(STREAM[start:end]))
    assert found == DECODED


def test_a_huge_line_in_small_pieces_is_read_in_no_time() -> None:
    decoder, piece = Decoder(), b"x" * 1_000
    began = time.process_time()
    found = list(decoder.feed(b"data:"))
    for _ in range(20_000):
        found += list(decoder.feed(piece))
    found += list(decoder.feed(b"\n\n"))
    assert [len(event.data) for event in found] == [20_000_000]
    assert time.process_time() - began < 2
