from __future__ import annotations

import contextlib

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.fastmcp import FastMCP
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from rasa_react_ext.errors import PeerError
from rasa_react_ext.testing.hosted import serve_application


def _shop() -> FastMCP:
    server = FastMCP("shop", log_level="CRITICAL")

    @server.tool()
    def look_up(item: str) -> str:
        """Find an item."""
        return f"{item} is on the shelf"

    return server


async def test_an_mcp_server_is_served_and_its_tools_run() -> None:
    # In a thread: the server's event stream leaves a watcher in its loop for the whole process.
    with serve_application(_shop()) as url:
        assert url.endswith("/mcp")
        async with (
            httpx.AsyncClient(trust_env=False, timeout=30) as http,
            streamable_http_client(url, http_client=http) as (read, write, *_),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            result = await session.call_tool("look_up", {"item": "hat"})
        assert result.content[0].text == "hat is on the shelf"


def test_a_client_that_still_listens_at_the_end_costs_no_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with contextlib.ExitStack() as clients, serve_application(_shop()) as url:
        http = clients.enter_context(httpx.Client(trust_env=False, timeout=10))
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        accept = {"accept": "application/json, text/event-stream"}
        opened = http.post(url, json=asked, headers=accept)
        session = {**accept, "mcp-session-id": opened.headers["mcp-session-id"]}
        stream = clients.enter_context(http.stream("GET", url, headers=session))
        assert stream.status_code == 200
    assert [record.message for record in caplog.records if record.exc_info] == []


def test_any_application_is_served_in_a_thread() -> None:
    async def hello(_: Request) -> PlainTextResponse:
        return PlainTextResponse("hello")

    with serve_application(Starlette(routes=[Route("/", hello)])) as url:
        assert httpx.get(url, trust_env=False).text == "hello"


def test_anything_else_is_refused() -> None:
    with pytest.raises(TypeError, match="Give an ASGI application or a FastMCP server"):
        serve_application("shop")


def test_an_application_that_does_not_start_is_an_error_at_once() -> None:
    server = _shop()
    with serve_application(server):
        pass
    with pytest.raises(PeerError, match="did not start"), serve_application(server):
        pytest.fail("a server of this kind starts once in its life")
