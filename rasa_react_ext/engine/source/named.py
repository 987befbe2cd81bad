"""Gives every tool a name that all model providers accept, and finds the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.source.name import marked, safe_name
from rasa_react_ext.engine.source.wrapper import Wrapper
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["Named"]


class Named(Wrapper):
    """Renames tools whose names providers refuse; others keep theirs.

    Two names that become the same are told apart by a mark made from the whole name.
    """

    def __init__(self, source: ToolSource) -> None:
        super().__init__(source)
        self._inner: dict[str, Tool] = {}

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools under their safe names."""
        wanted = {tool.name: safe_name(tool.name) for tool in under}
        uses = Counter(wanted.values())
        shown: list[Tool] = []
        for tool in under:
            name = wanted[tool.name]
            if name != tool.name and uses[name] > 1:
                name = marked(name, tool.name)
            self._inner[name] = tool
            shown.append(tool if name == tool.name else replace(tool, name=name))
        return tuple(shown)

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool under the name its source knows."""
        return await self._source.call(self._inner.get(tool.name, tool), arguments, context)
