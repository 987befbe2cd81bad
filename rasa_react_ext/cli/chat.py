"""`rasa-react chat`: talk to a trained assistant in the terminal."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from rasa_react_ext.compatibility import check_host

if TYPE_CHECKING:
    from rasa_react_ext.host.terminal import Session

__all__ = ["command"]

HELP = "/slots shows slots, /trace where the record is, /cancel stops a turn, /stop ends."
SHOWN = 100


@click.command("chat")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    default=Path("models"),
    show_default=True,
    help="Trained model, or the folder whose newest one is taken.",
)
@click.option(
    "--endpoints", type=click.Path(path_type=Path), default=Path("endpoints.yml"), show_default=True
)
@click.option(
    "--sub-agents", type=click.Path(path_type=Path), default=Path("sub_agents"), show_default=True
)
@click.option("--sender", default="terminal", show_default=True, help="Name of the conversation.")
def command(model: Path, endpoints: Path, sub_agents: Path, sender: str) -> None:
    """Talk to a trained assistant.

    Texts appear as they come, tools with a line each while they run, slots when they change.
    Uses the host's Python API; no server is started.
    """
    check_host()
    asyncio.run(_chat(model, endpoints, sub_agents, sender))


async def _chat(model: Path, endpoints: Path, sub_agents: Path, sender: str) -> None:
    screen = Screen()
    screen.note("Loading the assistant …")
    from rasa_react_ext.host.terminal import loaded_session

    async with loaded_session(
        model=model, endpoints=endpoints, sub_agents=sub_agents, view=screen, sender_id=sender
    ) as session:
        screen.note(HELP)
        await session.begin()
        await _converse(session, screen, _typed_lines())


async def _converse(session: Session, screen: Screen, lines: asyncio.Queue[str | None]) -> None:
    """Read on while a turn runs, so that it can be cancelled; other lines wait."""
    waiting: list[str | None] = []
    while True:
        screen.ask()
        text = waiting.pop(0) if waiting else await lines.get()
        if text is None or text == "/stop":
            return
        if text.startswith("/"):
            await _obey(session, screen, text)
        elif text:
            await _turn(session, screen, text, lines, waiting)


async def _turn(
    session: Session,
    screen: Screen,
    text: str,
    lines: asyncio.Queue[str | None],
    waiting: list[str | None],
) -> None:
    async with asyncio.TaskGroup() as group:
        listener = group.create_task(_listen(session, screen, lines, waiting))
        await session.say(text)
        listener.cancel()


async def _listen(
    session: Session,
    screen: Screen,
    lines: asyncio.Queue[str | None],
    waiting: list[str | None],
) -> None:
    while True:
        line = await lines.get()
        if line == "/cancel":
            screen.note("Stopping the turn …" if session.cancel() else "Nothing runs.")
        else:
            waiting.append(line)


async def _obey(session: Session, screen: Screen, text: str) -> None:
    if text == "/slots":
        slots = await session.slots()
        for name, value in slots.items():
            screen.slot(name, value)
        if not slots:
            screen.note("No slot is set.")
    elif text == "/trace":
        file = session.trace_file()
        screen.note(
            f"{file}  (rasa-react trace {file})"
            if file
            else "No record: set trace_folder under rasa_react_ext: in endpoints.yml."
        )
    elif text == "/cancel":
        screen.note("Nothing runs.")
    else:
        screen.note(HELP)


def _typed_lines() -> asyncio.Queue[str | None]:
    """Lines of the terminal, read in a thread that dies with the process; None at the end."""
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(lines.put_nowait, line.strip())
        loop.call_soon_threadsafe(lines.put_nowait, None)

    threading.Thread(target=read, daemon=True, name="terminal input").start()
    return lines


class Screen:
    """Shows a conversation with rich (a `View`)."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)
        self._streaming = False

    def ask(self) -> None:
        """Invite the user to type."""
        if self._console.is_terminal:
            self._console.print("[bold]you >[/bold] ", end="")

    def note(self, text: str) -> None:
        """Say something about the chat itself."""
        self._line(text, "dim")

    def piece(self, text: str) -> None:
        """A piece of a streamed message."""
        if not self._streaming:
            self._console.print("bot > ", end="", style="bold cyan")
            self._streaming = True
        self._console.print(text, end="", markup=False)

    def end(self, *, interrupted: bool) -> None:
        """The end of a streamed message."""
        if self._streaming:
            self._console.print(" (stopped)" if interrupted else "", style="yellow")
        self._streaming = False

    def message(self, text: str) -> None:
        """A whole message."""
        self._console.print("bot > ", end="", style="bold cyan")
        self._console.print(text, markup=False)

    def tool_started(self, tool: str, arguments: dict[str, Any]) -> None:
        """A tool begins to run."""
        given = json.dumps(arguments, ensure_ascii=False)
        self._line(f"  … {tool} {_short(given)}", "dim")

    def tool_finished(self, tool: str, *, seconds: float | None, is_error: bool) -> None:
        """A tool has answered."""
        took = "" if seconds is None else f" in {seconds:.2f} s"
        if is_error:
            self._line(f"  ✗ {tool} failed{took}", "red")
        else:
            self._line(f"  ✓ {tool}{took}", "green")

    def slot(self, name: str, value: Any) -> None:
        """A slot has changed."""
        self._line(
            f"  {name} = {_short(json.dumps(value, ensure_ascii=False, default=str))}", "blue"
        )

    def _line(self, text: str, style: str) -> None:
        if self._streaming:
            self._console.print()
            self._streaming = False
        self._console.print(text, style=style, markup=False)


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
