"""What a terminal chat shows, as a port that the command line fulfils."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["View"]


class View(Protocol):
    """Shows one conversation; called from one event loop only."""

    def ask(self) -> None:
        """The user's turn to speak; may be said again, after words that came by themselves."""
        ...

    def said(self, text: str) -> None:
        """What the user said is taken up; all until the next of these answers it."""
        ...

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
        """A tool begins to run; secrets among the arguments are hidden."""
        ...

    def tool_finished(self, tool: str, *, seconds: float | None, failure: str | None) -> None:
        """A tool has answered, or has failed for a reason, which is one line without secrets."""
        ...

    def progress(self, text: str) -> None:
        """An agent or a flow has begun, ended, or was interrupted, resumed or cancelled."""
        ...

    def slot(self, name: str, value: Any) -> None:
        """A slot has changed."""
        ...

    def note(self, text: str) -> None:
        """Something about the chat itself, such as a server that is down."""
        ...

    def failed(self, reason: str) -> None:
        """The host has given a turn up."""
        ...
