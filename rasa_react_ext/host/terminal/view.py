"""What a terminal chat shows, as a port that the command line fulfils."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["View"]


class View(Protocol):
    """Shows one conversation; called from one event loop only."""

    def piece(self, text: str) -> None:
        """A piece of a streamed message."""
        ...

    def end(self, *, interrupted: bool) -> None:
        """The end of a streamed message."""
        ...

    def message(self, text: str) -> None:
        """A whole message."""
        ...

    def tool_started(self, tool: str, arguments: dict[str, Any]) -> None:
        """A tool begins to run."""
        ...

    def tool_finished(self, tool: str, *, seconds: float | None, is_error: bool) -> None:
        """A tool has answered."""
        ...

    def slot(self, name: str, value: Any) -> None:
        """A slot has changed."""
        ...
