"""The engine's ports: what it needs from the outside, owned by the engine.

Adapters live in `host` and `mcp_pool`; wrappers around a `ToolSource` add
cross-cutting behaviour.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from rasa_react_ext.engine.decision import CallDone
from rasa_react_ext.engine.message import Message, ModelAnswer, ModelRequest
from rasa_react_ext.engine.occurrence import Occurrence
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["ChatModel", "Clock", "Conversation", "Observer", "TextSink", "TextStream", "ToolSource"]

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

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
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


class TextStream(Protocol):
    """One message shown to the user while it is written."""

    async def write(self, delta: str) -> None:
        """Show one more piece; the first piece opens the message."""
        ...

    async def close(self, *, interrupted: bool = False) -> None:
        """End the message, if it was opened; bounded even when cancelled."""
        ...


class Conversation(Protocol):
    """The host's side of one agent turn; used by one run only."""

    def messages(self, slots: Mapping[str, Any]) -> Sequence[Message]:
        """System message and what was said, as the user's hooks build it.

        Returns the same object as long as nothing has changed.
        """
        ...

    def offered(self, tools: Sequence[Tool]) -> Sequence[Mapping[str, Any]]:
        """Definitions of these tools and of the built-in ones, as the user's hooks want them.

        Returns the same object for the same `tools` object.
        """
        ...

    def closing_instruction(self) -> str:
        """What to tell a model that completed its task without a closing line."""
        ...

    def stream(self) -> TextStream | None:
        """A new message to write to, or None where the channel shows whole texts."""
        ...

    async def send(self, text: str, kind: str) -> None:
        """Deliver a whole text; a channel that fails does not fail the run."""
        ...

    async def review(self, calls: Sequence[CallDone]) -> Mapping[str, Any]:
        """Let the user's hook see the successful calls; returns the slots it set."""
        ...


class Observer(Protocol):
    """Hears everything that happens, in true order; must not raise or block."""

    def on(self, occurrence: Occurrence) -> None:
        """Take note."""
        ...
