"""A time limit for every call of a source, whatever the source itself does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.source.wrapper import Wrapper
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["Limited"]

_GRACE_SECONDS = 0.5


class Limited(Wrapper):
    """Lets no call take longer than the smaller of its own limit and this one.

    A source that keeps time itself, and can say more about what happened, goes first.

    Raises:
        ValueError: The limit is not above 0.
    """

    def __init__(self, source: ToolSource, *, seconds: float) -> None:
        super().__init__(source)
        if seconds <= 0:
            raise ValueError("A time limit must be above 0 seconds.")
        self._seconds = seconds

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool; out of time is an error result with an unknown outcome."""
        seconds = min(self._seconds, context.timeout_seconds)
        limited = replace(context, timeout_seconds=seconds)
        try:
            async with asyncio.timeout(seconds + _GRACE_SECONDS):
                return await self._source.call(tool, arguments, limited)
        except TimeoutError:
            return ToolResult(
                text=f"{tool.name}: no answer within {seconds:g} s.",
                is_error=True,
                outcome_unknown=not tool.read_only,
            )
