"""A test server as the work of a whole process: until a signal comes, or while a command runs.

Takes the process's signals; only a program's own main function may call this.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from rasa_react_ext.testing.lifetime import Serving

__all__ = ["serve_until_signalled", "serve_while"]

S = TypeVar("S")

_END_SECONDS = 10.0


async def serve_until_signalled(serving: Serving[S], announce: Callable[[S], None]) -> S:
    """Serve until SIGINT or SIGTERM.

    Args:
        serving: The server.
        announce: Told of the running server.

    Returns:
        What was served, for its log.

    Raises:
        OSError: The port is taken.
    """
    async with _signalled() as signals, serving as server:
        announce(server)
        await signals.get()
    return server


async def serve_while(
    serving: Serving[S], command: Sequence[str], environment: Callable[[S], Mapping[str, str]]
) -> tuple[S, int]:
    """Serve while a command runs, and until it has ended.

    The first SIGINT is the command's: it is passed on, except in a terminal's foreground, where
    Ctrl-C reaches the command by itself. The second one, and SIGTERM, end the command.

    Args:
        serving: The server.
        command: Program and arguments.
        environment: Gives the command's whole environment.

    Returns:
        What was served, and the command's exit code; 128 and the signal's number where a
        signal ended it.

    Raises:
        OSError: The port is taken, or the program cannot be started.
    """
    async with _signalled() as signals, serving as server:
        process = await asyncio.create_subprocess_exec(*command, env=environment(server))
        ended = asyncio.create_task(process.wait())
        left = asyncio.create_task(_told_to_end(process, signals))
        try:
            await asyncio.wait({ended, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            code = await _end(process, ended)
    return server, code if code >= 0 else 128 - code


async def _told_to_end(process: asyncio.subprocess.Process, signals: asyncio.Queue[int]) -> None:
    """Wait for the signal that ends a process; one SIGINT before that is its own business."""
    if await signals.get() != signal.SIGINT:
        return
    if not _at_terminal():
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    await signals.get()


def _at_terminal() -> bool:
    """Whether a key pressed in the terminal signals this process's group, its command too."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


async def _end(process: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> int:
    """The exit code of a process that ended or is now told to."""
    if not ended.done():
        process.terminate()
        await asyncio.wait({ended}, timeout=_END_SECONDS)
    if not ended.done():
        process.kill()
    return await ended


@asynccontextmanager
async def _signalled() -> AsyncGenerator[asyncio.Queue[int]]:
    """Takes SIGINT and SIGTERM, in place of what they did before."""
    signals, loop = asyncio.Queue[int](), asyncio.get_running_loop()

    def on_signal(number: int, _: object) -> None:
        loop.call_soon_threadsafe(signals.put_nowait, number)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield signals
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
