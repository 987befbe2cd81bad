"""How the demo's commands write to the terminal: progress, transcripts, failures.

Owns the console and keeps the host's own output away from it unless it is wanted.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
import warnings
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from rasa_react_ext.testing.transcript import Kind, Line

__all__ = ["Screen", "host_output"]

LOOKS: dict[Kind, tuple[str, str]] = {
    "user": ("  you  ", "bold cyan"),
    "bot": ("  bot  ", "bold green"),
    "tool": ("       tool  ", "yellow"),
    "slot": ("       slot  ", "magenta"),
    "flow": ("       ", "dim"),
    "agent": ("       ", "dim"),
}


class Screen:
    """The terminal, or whatever stands in its place.

    Args:
        stream: Where to write; by default the standard output of this moment.

    Attributes:
        stream: Where it is written.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        target = stream or sys.stdout
        if isinstance(target, io.TextIOWrapper):
            # A terminal that lacks a character shows a question mark instead of ending the demo.
            target.reconfigure(errors="replace")
        self.stream = target
        self._console = Console(file=target, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def step(self, doing: str) -> Generator[None, None, None]:
        """Show that something is going on, and how long it took when it is done."""
        begin = time.perf_counter()
        # What does not go to this stream stays away from it: rich would bring it here.
        shared = sys.stdout is self.stream
        with Live(
            Spinner("dots", f"{doing} ..."),
            console=self._console,
            transient=True,
            redirect_stdout=shared,
            redirect_stderr=shared,
        ):
            yield
        self._console.print(Text(f"  {doing}: {time.perf_counter() - begin:.1f} s", "dim"))

    def show(self, lines: Iterable[Line], hide: Kind | None = None) -> None:
        """Write lines of a transcript.

        Args:
            lines: The lines.
            hide: A kind of line to leave out.
        """
        for line in lines:
            label, style = LOOKS[line.kind]
            if line.kind == "user" and hide != "user":
                self._console.print()
            if line.kind != hide:
                words = style if line.kind not in ("user", "bot") else ""
                self._console.print(Text.assemble((label, style), (line.text, words)))

    def say(self, text: str = "", style: str = "") -> None:
        """Write a line of text."""
        self._console.print(Text(text, style))


@contextlib.contextmanager
def host_output(*, shown: bool) -> Generator[None, None, None]:
    """Let the host write to the terminal, or drop what it writes.

    Args:
        shown: Whether its output is wanted.
    """
    if shown:
        yield
        return
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield
