"""A conversation at the terminal: reads on while turns run, obeys what begins with a slash."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from rasa_react_ext.cli.interrupt import asked_first

if TYPE_CHECKING:
    from rasa_react_ext.cli.screen import Screen
    from rasa_react_ext.host.terminal import Session

__all__ = ["converse", "typed_lines"]

HELP = "/slots shows slots, /trace where the record is, /cancel stops a turn, /stop ends."
CTRL_C = "Ctrl-C stops a turn, too; at the prompt, or a second time, it ends."


async def converse(
    session: Session, screen: Screen, lines: asyncio.Queue[str | None], *, typed: bool = True
) -> None:
    """Begin a session and talk until the input ends.

    Reads on while a turn runs, so that it can be cancelled; other lines wait until it is over.

    Args:
        session: The conversation.
        screen: Where it is shown.
        lines: What is said; None ends it.
        typed: A person types it: `/cancel` and the first Ctrl-C mean the turn that runs. In a
            file of messages `/cancel` has its place behind those that wait.
    """
    waiting: list[str | None] = []
    screen.note(HELP)
    await session.begin()
    while True:
        screen.ask()
        if waiting:
            text = waiting.pop(0)
            screen.repeat(text or "")
        else:
            text = await lines.get()
            screen.heard()
        if text is None or text == "/stop":
            return
        if text.startswith("/"):
            await _obey(session, screen, text, typed=typed)
        elif text:
            stop = _Stop(session, screen)
            listening = _listen(stop, lines, waiting, typed=typed)
            heeding = asked_first(stop.interrupt) if typed else contextlib.nullcontext()
            await _turn(session.say(text), screen, listening, heeding)
            stop.tell()


async def _turn(
    turn: Coroutine[Any, Any, None],
    screen: Screen,
    listening: Coroutine[Any, Any, None],
    heeding: contextlib.AbstractContextManager[None],
) -> None:
    async with asyncio.TaskGroup() as group:
        listener = group.create_task(listening)
        try:
            with heeding:
                await turn
        except Exception as error:  # noqa: BLE001 - the host raises many kinds; the chat goes on
            screen.failed(_reason(error))
        finally:
            listener.cancel()


class _Stop:
    """Stops the turn that runs, by a command or by Ctrl-C."""

    def __init__(self, session: Session, screen: Screen) -> None:
        self._session = session
        self._screen = screen
        self._stopping = False

    def command(self) -> None:
        """The user has typed the command."""
        self._ask("Nothing runs.")

    def interrupt(self) -> None:
        """The user has pressed Ctrl-C, which the terminal has written down."""
        self._screen.echoed()
        self._ask("This cannot be stopped. Ctrl-C once more ends the chat.")

    def tell(self) -> None:
        """The turn is over."""
        if self._stopping:
            self._screen.stopped()

    def _ask(self, otherwise: str) -> None:
        stopping = self._session.cancel()
        self._stopping = self._stopping or stopping
        self._screen.note("Stopping the turn …" if stopping else otherwise)


async def _listen(
    stop: _Stop, lines: asyncio.Queue[str | None], waiting: list[str | None], *, typed: bool
) -> None:
    while True:
        line = await lines.get()
        if line == "/cancel" and (typed or not waiting):
            stop.command()
        else:
            waiting.append(line)


async def _obey(session: Session, screen: Screen, text: str, *, typed: bool) -> None:
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
        screen.note(f"{HELP}\n{CTRL_C}" if typed else HELP)


def typed_lines() -> asyncio.Queue[str | None]:
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
