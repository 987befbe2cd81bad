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
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.caller import Caller
from rasa_react_ext.mcp_pool.connection import Status
from rasa_react_ext.mcp_pool.deadline import Deadline
from rasa_react_ext.mcp_pool.event import PoolEvent
from rasa_react_ext.mcp_pool.pool import Pool
from rasa_react_ext.mcp_pool.promise import Promises
from rasa_react_ext.mcp_pool.result import CallAnswer, tool_result
from rasa_react_ext.mcp_pool.schema import fits_strict, object_schema, without_nulls
from rasa_react_ext.mcp_pool.spec import ServerSpec
from rasa_react_ext.mcp_pool.wire import UnrepeatableError

__all__ = ["PooledTools", "ServerState"]

# A caller that keeps the same time itself would otherwise never hear what happened.
_HEADSTART_SECONDS = 0.1
_PAUSE_SECONDS = 0.1


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
        self._promises = Promises(())

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
            self._promises = Promises(listed)
            self._listed = listed
        return self._tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call one tool, within the time the context allows.

        A lost call is repeated only if it surely did not start or if the tool says
        that repeating is harmless. Everything but cancellation comes back as a result.
        """
        try:
            call = _Call(
                pool=self._pool,
                spec=self._spec,
                tool=tool,
                arguments=arguments,
                context=context,
                promises=self._promises,
            )
        except PydanticSerializationError as error:
            return _failure(f"{tool.name}: cannot be sent: {error}. It was not run.")
        except ValidationError as error:  # its own text would show the metadata
            fault = error.errors(include_url=False, include_input=False)[0]["msg"]
            return _failure(f"{tool.name}: cannot be sent: {fault}. It was not run.")
        seconds = context.timeout_seconds - min(_HEADSTART_SECONDS, context.timeout_seconds / 20)
        try:
            async with Deadline(seconds, context.limit_seconds) as deadline:
                return await call.run(deadline)
        except TimeoutError:
            text = f"{tool.name}: no answer within {context.timeout_seconds:g} s."
            return call.unknown(text) if call.sent else _failure(f"{text} It was not run.")


class _Call:
    """One tool call, over as many tries as are safe."""

    def __init__(
        self,
        *,
        pool: Pool,
        spec: ServerSpec,
        tool: Tool,
        arguments: Mapping[str, Any],
        context: CallContext,
        promises: Promises,
    ) -> None:
        self._pool = pool
        self._promises = promises
        self._spec = spec
        self._tool = tool
        self._context = context
        to_json([arguments, context.meta])  # what is no JSON must fail before it is sent
        meta = types.RequestParams.Meta(**context.meta) if context.meta else None
        self._request = types.ClientRequest(
            types.CallToolRequest(
                params=types.CallToolRequestParams(
                    name=tool.origin_name or tool.name,
                    arguments=without_nulls(arguments, tool.parameters),
                    _meta=meta,
                )
            )
        )
        self.sent = False

    async def run(self, deadline: Deadline) -> ToolResult:
        """Try until there is an answer or another try would not be safe."""
        tries = self._spec.max_retries + 1
        caller = Caller(
            server=self._spec.name,
            tool=self._tool,
            context=self._context,
            callbacks=self._pool.callbacks.offered(self._spec.offers),
            deadline=deadline,
        )
        while True:
            tries -= 1
            try:
                session = await self._pool.catalogue(self._spec).connection.session()
            except ConnectionLostError as error:
                return _failure(f"{self._where} cannot be reached: {error}. The call was not run.")
            try:
                self.sent = True
                answer = await session.request(self._request, CallAnswer, caller)
                return self._checked(tool_result(answer))
            except (PeerError, McpError, ValueError) as error:
                failed = self._failed(error, last=tries <= 0)
            if failed is not None:
                return failed
            await asyncio.sleep(_PAUSE_SECONDS)

    def _failed(self, error: Exception, *, last: bool) -> ToolResult | None:
        """What a failed try means; None when another one is safe."""
        text = f"{self._where}: {error}"
        match error:
            case ConnectionLostError():
                self.sent = False
                return _failure(f"{text}. The call was not run.") if last else None
            case UnrepeatableError():
                return self.unknown(f"{text}.")
            case OutcomeUnknownError():
                return None if self._tool.repeatable and not last else self.unknown(f"{text}.")
            case ValidationError():
                return self.unknown(f"{self._where}: the answer is not a tool result.")
            case _:
                return _failure(text)

    def _checked(self, result: ToolResult) -> ToolResult:
        """Report a value that is not what the tool promised; it is used all the same."""
        fault = None if result.is_error else self._promises.fault(self._tool, result.value)
        if fault is not None:
            text = f"{self._tool.origin_name}: the result breaks the tool's output schema: {fault}"
            self._pool.report(PoolEvent(kind="result_mismatch", server=self._spec.name, text=text))
        return result

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
    parameters = object_schema(tool.inputSchema)
    return Tool(
        name=tool.name,
        description=tool.description or tool.title or "",
        parameters=parameters,
        strict=fits_strict(parameters),
        origin=server,
        origin_name=tool.name,
        read_only=read_only,
        idempotent=bool(hints.idempotentHint),
        destructive=not read_only and bool(hints.destructiveHint),
    )


def _failure(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
