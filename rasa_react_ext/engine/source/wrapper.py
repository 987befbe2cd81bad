"""The common part of wrappers: a tool source around a tool source.

A wrapper derives its tools anew only when the list under it is another object, so
that a step of the engine costs next to nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["Wrapper"]


class Wrapper(ABC):
    """Passes everything on to another source; subclasses say what they change."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._under: Sequence[Tool] | None = None
        self._tools: Sequence[Tool] = ()

    async def tools(self) -> Sequence[Tool]:
        """The tools of the moment, as this wrapper shows them."""
        under = await self._source.tools()
        if under is not self._under:
            self._tools = self.derive(under)
            self._under = under
        return self._tools

    @abstractmethod
    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools to show, made from those of the source."""

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool at the source."""
        return await self._source.call(tool, arguments, context)

    def missing(self) -> Sequence[str]:
        """Origins whose tools are absent right now, each with its reason."""
        return self._source.missing()
