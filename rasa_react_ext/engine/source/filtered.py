"""Shows some tools of a source and hides the others."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.source.wrapper import Wrapper
from rasa_react_ext.engine.tool import Tool

__all__ = ["Filtered"]


class Filtered(Wrapper):
    """Includes or excludes tools by the name they have at their server.

    Raises:
        ValueError: Both lists were given.
    """

    def __init__(
        self,
        source: ToolSource,
        *,
        include: Collection[str] | None = None,
        exclude: Collection[str] | None = None,
    ) -> None:
        super().__init__(source)
        if include and exclude:
            raise ValueError("Give either tools to include or tools to exclude, not both.")
        self._include = frozenset(include) if include else None
        self._exclude = frozenset(exclude or ())

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools that pass the lists; a name matches as the server or the model knows it."""
        return tuple(tool for tool in under if self._passes({tool.name, tool.origin_name}))

    def _passes(self, names: set[str]) -> bool:
        if self._include is not None:
            return bool(names & self._include)
        return not names & self._exclude
