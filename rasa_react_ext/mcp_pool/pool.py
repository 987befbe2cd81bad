"""All connections of a process: one per server, credentials and running event loop.

Holds no global state: whoever builds a pool owns and closes it. What belongs to an
event loop that has ended is dropped, and opened anew where it is needed next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from rasa_react_ext.mcp_pool.callback import Callbacks
from rasa_react_ext.mcp_pool.catalogue import Catalogue
from rasa_react_ext.mcp_pool.connection import Connection
from rasa_react_ext.mcp_pool.event import Report, ignore
from rasa_react_ext.mcp_pool.spec import ServerSpec, SessionKey

__all__ = ["Pool"]

_Loop = asyncio.AbstractEventLoop
_CLOSE_SECONDS = 15.0
_NOBODY = Callbacks()


class Pool:
    """Sessions to MCP servers, shared by all agents and conversations.

    Usable from any event loop, and from several one after the other; sessions are
    opened by the first use or by `warm`.

    Attributes:
        callbacks: Who answers what servers ask during calls.
        report: Takes what a person may want to know about servers.
    """

    def __init__(self, report: Report = ignore, callbacks: Callbacks = _NOBODY) -> None:
        """Create a pool that is connected to nothing.

        Args:
            report: Takes what a person may want to know about servers.
            callbacks: Who answers what servers ask during calls.
        """
        self.report = report
        self.callbacks = callbacks
        self._loops: dict[_Loop, dict[SessionKey, Catalogue]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    def warm(self, specs: Iterable[ServerSpec]) -> None:
        """Start to connect to all these servers at once, in the background."""
        for spec in specs:
            self.catalogue(spec).connection.warm()

    def catalogue(self, spec: ServerSpec) -> Catalogue:
        """Connection and tool list of one server in the running event loop.

        Raises:
            RuntimeError: No event loop is running.
        """
        loop = asyncio.get_running_loop()
        mine = self._loops.get(loop)
        if mine is None:
            for old in [each for each in tuple(self._loops) if each.is_closed()]:
                self._loops.pop(old, None)
            mine = self._loops[loop] = {}
        key = spec.key
        found = mine.get(key)
        if found is None:
            callbacks = self.callbacks.offered(spec.offers)
            connection = Connection(spec, callbacks, self.report)
            found = mine[key] = Catalogue(connection, spec.name, self.report)
        found.connection.share(spec)
        return found

    async def aclose(self) -> None:
        """End every session of every loop. Bounded, idempotent, for any task or loop.

        The pool may be used again afterwards; sessions are then opened anew.
        """
        loops, self._loops = self._loops, {}
        here = asyncio.get_running_loop()
        closing = [
            connection.aclose()
            if loop is here
            else asyncio.wrap_future(asyncio.run_coroutine_threadsafe(connection.aclose(), loop))
            for loop, known in loops.items()
            if loop is here or loop.is_running()
            for connection in (catalogue.connection for catalogue in known.values())
        ]
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await asyncio.gather(*closing)
        except TimeoutError:
            return  # an owner that does not end was cancelled; its loop keeps the rest
