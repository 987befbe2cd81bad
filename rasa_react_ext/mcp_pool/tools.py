"""The tools of one server as a `ToolSource` of the engine.

Belongs to no event loop and keeps no session: it asks the pool at each use. Wrappers
around it add filters, names and limits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp import types
from mcp.shared.exceptions import McpError

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.connection import Status
from rasa_react_ext.mcp_pool.pool import Pool
from rasa_react_ext.mcp_pool.result import tool_result
from rasa_react_ext.mcp_pool.schema import object_schema
from rasa_react_ext.mcp_pool.spec import ServerSpec
from rasa_react_ext.mcp_pool.wire import SessionClosedError

__all__ = ["PooledTools", "ServerState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerState:
    """How a server is at this moment.

    Attributes:
        status: `idle`, `connecting`, `ready`, `lost` or `down`.
        reason: Why it is not ready, in words; empty when it is.
    """

    status: Status
    reason: str


class PooledTools:
    """Lists and calls the tools of one server through a shared session.

    May be used by many runs at once. A server that cannot be reached has no tools
    and is named by `missing`; the pool goes on trying.
    """

    def __init__(self, pool: Pool, spec: ServerSpec) -> None:
        self._pool = pool
        self._spec = spec
        self._listed: tuple[types.Tool, ...] = ()
        self._tools: tuple[Tool, ...] = ()
        self._missing: tuple[str, ...] = ()

    @property
    def server(self) -> str:
        """Name of the server."""
        return self._spec.name

    def warm(self) -> None:
        """Start to connect in the background."""
        self._pool.catalogue(self._spec).connection.warm()

    def state(self) -> ServerState:
        """How the server is, seen from the running event loop."""
        connection = self._pool.catalogue(self._spec).connection
        return ServerState(status=connection.status, reason=connection.reason)

    def missing(self) -> Sequence[str]:
        """The server with its reason, if its tools were absent when last listed."""
        return self._missing

    async def tools(self) -> Sequence[Tool]:
        """All tools of the server; empty while it cannot be reached.

        The same object is returned while the list has not changed.
        """
        try:
            listed = await self._pool.catalogue(self._spec).tools()
        except PeerError as error:
            self._missing = (f"{self._spec.name}: {error}",)
            return ()
        self._missing = ()
        if listed is not self._listed:
            self._tools = tuple(_tool(tool, self._spec.name) for tool in listed)
            self._listed = listed
        return self._tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call one tool, within the time the context allows.

        A lost call is repeated only if it surely did not start or if the tool says
        that repeating is harmless. Everything but cancellation comes back as a result.
        """
        call = _Call(self._pool, self._spec, tool, arguments, context)
        try:
            async with asyncio.timeout(context.timeout_seconds):
                return await call.run()
        except TimeoutError:
            text = f"{tool.name}: no answer within {context.timeout_seconds:g} s."
            return call.unknown(text) if call.sent else _failure(f"{text} It was not run.")


class _Call:
    """One tool call, over as many tries as are safe."""

    def __init__(
        self,
        pool: Pool,
        spec: ServerSpec,
        tool: Tool,
        arguments: Mapping[str, Any],
        context: CallContext,
    ) -> None:
        self._pool = pool
        self._spec = spec
        self._tool = tool
        meta = types.RequestParams.Meta(**context.meta) if context.meta else None
        self._request = types.ClientRequest(
            types.CallToolRequest(
                params=types.CallToolRequestParams(
                    name=tool.origin_name or tool.name, arguments=dict(arguments), _meta=meta
                )
            )
        )
        self.sent = False

    async def run(self) -> ToolResult:
        """Try until there is an answer or another try would not be safe."""
        tries = self._spec.max_retries + 1
        while True:
            tries -= 1
            try:
                session = await self._pool.catalogue(self._spec).connection.session()
            except ConnectionLostError as error:
                return _failure(f"{self._where} cannot be reached: {error}. The call was not run.")
            try:
                self.sent = True
                return tool_result(await session.request(self._request, types.CallToolResult))
            except ConnectionLostError as error:
                self.sent = False
                if tries <= 0:
                    return _failure(f"{self._where}: {error}. The call was not run.")
            except OutcomeUnknownError as error:
                final = isinstance(error, SessionClosedError) or tries <= 0
                if final or not self._tool.repeatable:
                    return self.unknown(f"{self._where}: {error}.")
            except (PeerError, McpError) as error:
                return _failure(f"{self._where}: {error}")
            except ValueError as error:
                return self.unknown(f"{self._where}: the answer is no valid result: {error}")

    @property
    def _where(self) -> str:
        return f"MCP server {self._spec.name!r}"

    def unknown(self, text: str) -> ToolResult:
        """The result of a call that may or may not have taken effect."""
        if self._tool.read_only:
            return _failure(text)
        return ToolResult(
            text=f"{text} The outcome is unknown: it may have taken effect. "
            "Check before you call it again.",
            is_error=True,
            outcome_unknown=True,
        )


def _tool(tool: types.Tool, server: str) -> Tool:
    hints = tool.annotations or types.ToolAnnotations()
    read_only = bool(hints.readOnlyHint)
    return Tool(
        name=tool.name,
        description=tool.description or tool.title or "",
        parameters=object_schema(tool.inputSchema),
        origin=server,
        origin_name=tool.name,
        read_only=read_only,
        idempotent=bool(hints.idempotentHint),
        destructive=not read_only and bool(hints.destructiveHint),
    )


def _failure(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
