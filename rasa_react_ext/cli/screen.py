"""A conversation in the terminal, as it happens."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console

__all__ = ["Screen"]

SHOWN = 100


class Screen:
    """Shows a conversation with rich (a `View`)."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._console.soft_wrap = not self._console.is_terminal  # elsewhere a line stays a line
        self._streaming = False
        self._asking = False
        self._told_stopped = False

    def ask(self) -> None:
        """Invite the user to type."""
        self._told_stopped = False
        if self._console.is_terminal and not self._asking:
            self._console.print("[bold]you >[/bold] ", end="")
            self._asking = True

    def heard(self) -> None:
        """The user has ended a line."""
        self._asking = False

    def repeat(self, text: str) -> None:
        """Write at the prompt what the user typed before it stood there."""
        if self._asking:
            self._console.print(text, markup=False)
        self._asking = False

    def echoed(self) -> None:
        """The terminal has written something itself, such as ^C."""
        self._asking = self._console.is_terminal

    def said(self, text: str) -> None:
        """Write what the user said where it does not stand there already."""
        if self._asking or not self._console.is_terminal:
            self._console.print("" if self._asking else "[bold]you >[/bold] ", end="")
            self._console.print(text, markup=False)
        self._asking = False

    def note(self, text: str) -> None:
        """Say something about the chat itself."""
        self._line(text, "dim")

    def failed(self, reason: str) -> None:
        """A turn that the host gave up."""
        self._line(f"The turn failed: {reason}", "red")

    def piece(self, text: str) -> None:
        """A piece of a streamed message."""
        if not self._streaming:
            self._begin_line()
            self._console.print("bot > ", end="", style="bold cyan")
            self._streaming = True
        self._console.print(text, end="", markup=False)

    def end(self, *, interrupted: bool) -> None:
        """The end of a streamed message."""
        if self._streaming:
            self._console.print(" (stopped)" if interrupted else "", style="yellow")
            self._told_stopped = interrupted
        self._streaming = False

    def stopped(self) -> None:
        """The user has stopped the turn; told unless that stands behind its text."""
        if not self._told_stopped:
            self._line("(stopped)", "yellow")

    def message(self, text: str) -> None:
        """A whole message."""
        self._begin_line()
        self._console.print("bot > ", end="", style="bold cyan")
        self._console.print(text, markup=False)

    def tool_started(self, tool: str, arguments: dict[str, Any]) -> None:
        """A tool begins to run."""
        given = json.dumps(arguments, ensure_ascii=False)
        self._line(f"  … {tool} {_short(given)}", "dim")

    def tool_finished(self, tool: str, *, seconds: float | None, failure: str | None) -> None:
        """A tool has answered."""
        took = "" if seconds is None else f" in {seconds:.2f} s"
        if failure is None:
            self._line(f"  ✓ {tool}{took}", "green")
        else:
            reason = f": {_short(failure)}" if failure else ""
            self._line(f"  ✗ {tool} failed{took}{reason}", "red")

    def progress(self, text: str) -> None:
        """A flow or an agent has come further."""
        self._line(f"  {text}", "dim")

    def slot(self, name: str, value: Any) -> None:
        """A slot has changed."""
        self._line(
            f"  {name} = {_short(json.dumps(value, ensure_ascii=False, default=str))}", "blue"
        )

    def _line(self, text: str, style: str) -> None:
        self._begin_line()
        self._console.print(text, style=style, markup=False)

    def _begin_line(self) -> None:
        """Leave a line on which something stands."""
        if self._streaming or self._asking:
            self._console.print()
        self._streaming = self._asking = False


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
