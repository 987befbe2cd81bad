"""The engine's ports: what it needs from the outside, owned by the engine.

Adapters live in `host` and `mcp_pool`; wrappers around a `ToolSource` add
cross-cutting behaviour.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from rasa_react_ext.engine.message import ModelAnswer, ModelRequest
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["ChatModel", "Clock", "TextSink", "ToolSource"]

TextSink = Callable[[str], Awaitable[None]]
"""Receives each visible text delta of a streamed answer, in order."""


class ChatModel(Protocol):
    """A chat model behind a provider.

    May be called by many runs at once. Cancellation stops the request at once.
    """

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelAnswer:
        """Ask once, without retries of its own.

        With `sink` the answer is streamed and each visible text delta is awaited
        into it; the returned answer still holds the whole text.

        Raises:
            ModelError: The provider failed; `kind` says how. Never raised for an
                answer that merely looks odd: the run judges those.
        """
        ...


class ToolSource(Protocol):
    """Tools that can be listed and called.

    May be called by many runs at once.
    """

    async def tools(self) -> Sequence[Tool]:
        """The tools at this moment; names are unique within the source."""
        ...

    async def call(self, tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Call one tool; arguments are parsed and fit the schema's types.

        Failures of the tool come back as a `ToolResult` with `is_error`, lost calls
        with `outcome_unknown` as well. Only cancellation is raised.
        """
        ...

    def missing(self) -> Sequence[str]:
        """Origins whose tools are absent right now, each with its reason."""
        ...


class Clock(Protocol):
    """Time, so that tests need no waiting."""

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
