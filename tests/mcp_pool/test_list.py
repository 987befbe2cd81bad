"""Tool lists: all pages, changes, bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import PooledTools, PoolEvent
from tests.mcp_pool.mcp_server import Asgi, Served, serving
from tests.mcp_pool.steps import named, until

EMPTY: dict[str, Any] = {"type": "object"}


class Shelf:
    """A server whose tool list is what the test says."""

    def __init__(self) -> None:
        self.names = [f"t{number}" for number in range(120)]
        self.page = 50
        self.endless: Callable[[int], str] | None = None
        self.broken = False
        self.changed_meanwhile: list[str] = []
        self.lists = 0
        self.output: dict[str, Any] | None = None
        self.sessions: list[Any] = []
        self.loop: asyncio.AbstractEventLoop

    def app(self) -> Asgi:
        server: Server[Any, Any] = Server("shelf")

        @server.list_tools()
        async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
            self.lists += 1
            self.sessions.append(server.request_context.session)
            self.loop = asyncio.get_running_loop()
            if self.broken:
                raise RuntimeError("no list today")
            start = int(request.params.cursor or 0) if request.params else 0
            if self.endless is not None:
                return types.ListToolsResult(tools=[], nextCursor=self.endless(start))
            tools = [
                types.Tool(name=name, inputSchema=EMPTY, outputSchema=self.output)
                for name in self.names[start : start + self.page]
            ]
            end = start + self.page
            if self.changed_meanwhile:
                self.names, self.changed_meanwhile = self.changed_meanwhile, []
                await server.request_context.session.send_tool_list_changed()
            return types.ListToolsResult(
                tools=tools, nextCursor=str(end) if end < len(self.names) else None
            )

        @server.call_tool(validate_input=False)
        async def call_tool(name: str, arguments: dict[str, Any]) -> types.CallToolResult:
            if name not in self.names:
                raise ValueError(f"unknown tool {name}")
            return types.CallToolResult(
                content=[types.TextContent(type="text", text=f"{name} ran")],
                structuredContent={"n": "seven"} if self.output else None,
            )

        manager = StreamableHTTPSessionManager(app=server)
        server.notification_options = NotificationOptions(tools_changed=True)
        return Starlette(
            routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lambda app: manager.run()
        )


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def server(shelf: Shelf) -> Iterator[Served]:
    with serving(shelf.app, "/mcp/") as served:
        yield served


async def names(tools: PooledTools) -> list[str]:
    return [tool.name for tool in await tools.tools()]


async def test_b64_every_page_is_read(
    shelf: Shelf, tools: PooledTools, context: CallContext
) -> None:
    assert await names(tools) == [f"t{number}" for number in range(120)]
    assert shelf.lists == 3
    assert (await tools.call(await named(tools, "t110"), {}, context)).text == "t110 ran"
    assert shelf.lists == 3, "a call never lists tools"


@pytest.mark.parametrize("endless", [lambda start: "7", lambda start: str(start + 1)])
async def test_b64_endless_pages_come_to_an_end(
    shelf: Shelf, tools: PooledTools, reported: list[PoolEvent], endless: Callable[[int], str]
) -> None:
    shelf.endless = endless
    assert await names(tools) == []
    assert shelf.lists <= 200
    assert "tools_bounded" in [event.kind for event in reported]


async def test_the_number_of_tools_is_bounded_and_a_name_counts_once(
    shelf: Shelf, tools: PooledTools, reported: list[PoolEvent]
) -> None:
    shelf.names = [f"t{number // 2}" for number in range(1_400)]
    shelf.page = 700
    assert await names(tools) == [f"t{number}" for number in range(500)]
    assert "500 are the limit" in reported[-1].text


async def test_the_size_of_the_list_is_bounded(
    shelf: Shelf, tools: PooledTools, reported: list[PoolEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(EMPTY, "description", "x" * 300_000)
    shelf.names = ["a", "b", "c", "d", "e"]
    assert await names(tools) == ["a", "b", "c"]
    assert "'d' and the rest" in reported[-1].text


async def test_b66_a_changed_list_is_read_before_the_next_use(
    shelf: Shelf, tools: PooledTools, context: CallContext
) -> None:
    shelf.names = ["a", "c"]
    before = await tools.tools()
    assert await tools.tools() is before
    shelf.names = ["b", "c"]
    await notify(shelf, tools)
    assert await names(tools) == ["b", "c"]
    gone = await tools.call(before[0], {}, context)
    assert gone.is_error
    assert "unknown tool a" in gone.text


async def test_b66_a_notice_during_a_refresh_is_not_lost(shelf: Shelf, tools: PooledTools) -> None:
    shelf.names = ["a"]
    await tools.tools()
    shelf.changed_meanwhile = ["b"]
    await notify(shelf, tools)
    connection = tools._pool.catalogue(tools._spec).connection
    seen = connection.changes
    assert await names(tools) == ["a"]
    await until(lambda: connection.changes > seen)
    assert await names(tools) == ["b"]


async def test_b66_a_refresh_that_fails_keeps_the_old_list(
    shelf: Shelf, tools: PooledTools, reported: list[PoolEvent]
) -> None:
    shelf.names = ["a"]
    before = await tools.tools()
    shelf.broken = True
    await notify(shelf, tools)
    assert await tools.tools() is before
    tried = shelf.lists
    assert await tools.tools() is before
    assert shelf.lists == tried, "not tried again at once"
    assert tools.missing() == ()
    assert "no list today" in reported[-1].text


async def test_b66_a_restart_with_another_list_and_no_notice_is_seen(
    shelf: Shelf, server: Served, tools: PooledTools, context: CallContext
) -> None:
    shelf.names = ["a"]
    tool = await named(tools, "a")
    shelf.names = ["a", "b"]
    await asyncio.to_thread(server.restart)
    await tools.call(tool, {}, context)
    assert await names(tools) == ["a", "b"]


async def test_a_server_whose_list_cannot_be_read_is_named(
    shelf: Shelf, tools: PooledTools
) -> None:
    shelf.broken = True
    assert await tools.tools() == ()
    assert "cannot list tools: no list today" in tools.missing()[0]
    assert await tools.tools() == ()
    assert shelf.lists == 1, "not tried again at once"


async def test_a_result_that_breaks_its_schema_is_reported_and_used(
    shelf: Shelf, tools: PooledTools, context: CallContext, reported: list[PoolEvent]
) -> None:
    shelf.names = ["a"]
    shelf.output = {"type": "object", "properties": {"n": {"type": "integer"}}}
    result = await tools.call(await named(tools, "a"), {}, context)
    assert not result.is_error
    assert result.value == {"n": "seven"}
    assert "$.n: type is not met" in reported[-1].text


async def test_a_promised_result_that_does_not_come_is_reported(
    shelf: Shelf, tools: PooledTools, context: CallContext, reported: list[PoolEvent]
) -> None:
    shelf.names = ["a"]
    shelf.output = {"type": "object"}
    tool = await named(tools, "a")
    shelf.output = None
    assert (await tools.call(tool, {}, context)).text == "a ran"
    assert "there is no structured content" in reported[-1].text


@pytest.mark.parametrize("odd", [{"$ref": "http://127.0.0.1:9/x"}, {"type": 7}])
async def test_a_schema_that_is_none_promises_nothing(
    shelf: Shelf, tools: PooledTools, context: CallContext, odd: dict[str, Any]
) -> None:
    shelf.names = ["a"]
    shelf.output = {"type": "object", "properties": {"n": odd}}
    assert not (await tools.call(await named(tools, "a"), {}, context)).is_error


async def notify(shelf: Shelf, tools: PooledTools) -> None:
    """Say that the list has changed, as a server does, and wait until that has arrived."""
    connection = tools._pool.catalogue(tools._spec).connection
    seen = connection.changes
    saying = asyncio.run_coroutine_threadsafe(
        shelf.sessions[-1].send_tool_list_changed(), shelf.loop
    )
    await asyncio.wrap_future(saying)
    await until(lambda: connection.changes > seen)
