"""Several tool sources as one, with every name unique and every call routed home."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.source.name import marked, safe_name
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["Combined"]


class Combined:
    """The tools of all sources, in the order of the sources.

    A name that several sources have gets the server's name in front on every side;
    tools without a server keep theirs. Once seen, such a name keeps its prefix, so
    that names do not change when a server goes down.
    """

    def __init__(self, sources: Sequence[ToolSource]) -> None:
        self._sources = tuple(sources)
        self._under: list[Sequence[Tool]] = []
        self._tools: tuple[Tool, ...] = ()
        self._clashing: set[str] = set()
        self._homes: dict[str, tuple[ToolSource, Tool]] = {}

    async def tools(self) -> Sequence[Tool]:
        """The tools of all sources, read side by side."""
        under = await asyncio.gather(*(source.tools() for source in self._sources))
        same = len(under) == len(self._under) and all(map(_is, under, self._under))
        if not same:
            self._tools = self._combine(under)
            self._under = under
        return self._tools

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool at the source it came from."""
        home = self._homes.get(tool.name)
        if home is None:
            return ToolResult(text=f"There is no tool {tool.name!r}.", is_error=True)
        source, inner = home
        return await source.call(inner, arguments, context)

    def missing(self) -> Sequence[str]:
        """What is missing at any source."""
        return tuple(reason for source in self._sources for reason in source.missing())

    def _combine(self, under: Sequence[Sequence[Tool]]) -> tuple[Tool, ...]:
        uses = Counter(tool.name for tools in under for tool in tools)
        self._clashing.update(name for name, count in uses.items() if count > 1)
        shown: dict[str, Tool] = {}
        for source, tools in zip(self._sources, under, strict=True):
            for tool in tools:
                name = self._name(tool, shown)
                self._homes[name] = (source, tool)
                shown[name] = tool if name == tool.name else replace(tool, name=name)
        return tuple(shown.values())

    def _name(self, tool: Tool, taken: Mapping[str, Tool]) -> str:
        name = tool.name
        if name in self._clashing and tool.origin:
            name = safe_name(f"{tool.origin}__{name}")
        attempt = 1
        while name in taken:
            attempt += 1
            name = marked(tool.name, f"{tool.origin}/{tool.origin_name}/{attempt}")
        return name


def _is(one: object, other: object) -> bool:
    return one is other
