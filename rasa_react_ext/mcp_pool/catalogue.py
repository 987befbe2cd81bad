"""The tools of one connection: all pages, kept until the server says otherwise.

One reading serves all agents. A failed refresh keeps the list that was known.
"""

from __future__ import annotations

import asyncio
import json

from mcp import types
from mcp.shared.exceptions import McpError
from pydantic import ValidationError

from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.connection import Connection
from rasa_react_ext.mcp_pool.event import EventKind, PoolEvent, Report
from rasa_react_ext.mcp_pool.owner import OpenSession

__all__ = ["Catalogue"]

_LIST_SECONDS = 10.0
_REFRESH_PAUSE_SECONDS = 5.0
_MAX_PAGES = 200
_MAX_TOOLS = 500
_MAX_SIZE = 1_000_000


class _Page(types.PaginatedResult):
    """One page, its tools still unread: one bad tool must not cost the others."""

    tools: list[object]


class Catalogue:
    """The tool list of one server in one event loop.

    Attributes:
        connection: The way to the server.
    """

    def __init__(self, connection: Connection, name: str, report: Report) -> None:
        self.connection = connection
        self._name = name
        self._report = report
        self._reading = asyncio.Lock()
        self._tools: tuple[types.Tool, ...] | None = None
        self._read_from: OpenSession | None = None
        self._read_at_change = -1
        self._failed_on: OpenSession | None = None
        self._failure = ""
        self._not_before = 0.0

    async def tools(self) -> tuple[types.Tool, ...]:
        """The list of the moment; the same object while nothing has changed.

        Raises:
            PeerError: There is no session, or no list could ever be read.
        """
        session = await self.connection.session()
        if not self._settled(session):
            async with self._reading:
                session = await self.connection.session()
                if not self._settled(session):
                    await self._refresh(session)
        if self._tools is None:
            raise ConnectionLostError(self._name, f"cannot list tools: {self._failure}")
        return self._tools

    def _settled(self, session: OpenSession) -> bool:
        """Whether the list is fresh, or could not be read a moment ago."""
        if self._failed_on is session and asyncio.get_running_loop().time() < self._not_before:
            return True
        return self._read_from is session and self._read_at_change == self.connection.changes

    async def _refresh(self, session: OpenSession) -> None:
        change = self.connection.changes  # one that comes during the reading counts again
        try:
            async with asyncio.timeout(_LIST_SECONDS):
                try:
                    tools = await self._read(session)
                except (ConnectionLostError, OutcomeUnknownError):
                    # Reading changes nothing, so what was cut off may be asked again.
                    session = await self.connection.session()
                    tools = await self._read(session)
        except (PeerError, McpError, TimeoutError) as error:
            self._failure = str(error) or f"no answer within {_LIST_SECONDS:g} s"
            self._failed_on = session
            self._not_before = asyncio.get_running_loop().time() + _REFRESH_PAUSE_SECONDS
            self._tell("tools_refresh_failed", f"The tool list could not be read: {self._failure}")
        else:
            self._tools = tools
            self._read_from, self._read_at_change, self._failed_on = session, change, None

    async def _read(self, session: OpenSession) -> tuple[types.Tool, ...]:
        found: list[types.Tool] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(_MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            request = types.ClientRequest(types.ListToolsRequest(params=params))
            page = await session.request(request, _Page)
            found.extend(self._readable(page.tools))
            cursor = page.nextCursor
            if not cursor:
                break
            if cursor in seen:
                self._tell_bound(f"the cursor {cursor!r} came twice")
                break
            seen.add(cursor)
        else:
            self._tell_bound(f"there were more than {_MAX_PAGES} pages")
        return self._bounded(_first_of_each_name(found))

    def _readable(self, raw: list[object]) -> list[types.Tool]:
        tools: list[types.Tool] = []
        for item in raw:
            try:
                tools.append(types.Tool.model_validate(item))
            except ValidationError as error:
                self._tell_bound(f"a tool has no valid definition ({error.error_count()} faults)")
        return tools

    def _bounded(self, tools: list[types.Tool]) -> tuple[types.Tool, ...]:
        """As many tools as a model can be offered at all."""
        if len(tools) > _MAX_TOOLS:
            self._tell_bound(f"there were {len(tools)}, and {_MAX_TOOLS} are the limit")
        kept: list[types.Tool] = []
        size = 0
        for tool in tools[:_MAX_TOOLS]:
            size += len(json.dumps(tool.inputSchema)) + len(tool.description or "")
            if size > _MAX_SIZE:
                self._tell_bound(f"{tool.name!r} and the rest would exceed {_MAX_SIZE} characters")
                break
            kept.append(tool)
        return tuple(kept)

    def _tell_bound(self, why: str) -> None:
        self._tell("tools_bounded", f"Not all tools are offered: {why}.")

    def _tell(self, kind: EventKind, text: str) -> None:
        self._report(PoolEvent(kind=kind, server=self._name, text=text))


def _first_of_each_name(tools: list[types.Tool]) -> list[types.Tool]:
    """A server that lists a name twice means one tool: calls carry only the name."""
    named: dict[str, types.Tool] = {}
    for tool in tools:
        named.setdefault(tool.name, tool)
    return list(named.values())
