"""`rasa-react chat`: talk to a trained assistant in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rasa_react_ext.cli.quiet import host_kept_quiet
from rasa_react_ext.cli.screen import Screen
from rasa_react_ext.compatibility import check_host

if TYPE_CHECKING:
    from rasa_react_ext.host.terminal import Session

__all__ = ["command"]

HELP = "/slots shows slots, /trace where the record is, /cancel stops a turn, /stop ends."


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
    with host_kept_quiet():
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
        try:
            await session.say(text)
        except Exception as error:  # noqa: BLE001 - the host raises many kinds; the chat goes on
            screen.failed(_reason(error))
        finally:
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

    def put(line: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone: nobody listens any more
            loop.call_soon_threadsafe(lines.put_nowait, line)

    def read() -> None:
        for line in _raw_lines(sys.stdin.fileno()):
            put(line.decode(errors="replace").strip())
        put(None)

    threading.Thread(target=read, daemon=True, name="terminal input").start()
    return lines


def _raw_lines(file: int) -> Iterator[bytes]:
    """Lines of a file, without Python's buffer: a thread that waits in it blocks the exit."""
    rest = b""
    while piece := os.read(file, 65536):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest


def _reason(error: BaseException) -> str:
    """What is behind an error, on one line; the host's graph hides the cause in another."""
    while error.__cause__ is not None and type(error).__name__ == "GraphComponentException":
        error = error.__cause__
    return " ".join(str(error).split()) or type(error).__name__
