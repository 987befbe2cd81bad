"""A test server as the work of a whole process: until a signal comes, or while a command runs.

Takes the process's signals; only a program's own main function may call this.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
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
    async with _signalled() as leave, serving as server:
        announce(server)
        await leave.wait()
    return server


async def serve_while(
    serving: Serving[S], command: Sequence[str], environment: Callable[[S], Mapping[str, str]]
) -> tuple[S, int]:
    """Serve while a command runs, and until it has ended.

    The first SIGINT is left to the command: a terminal sends it to both. The second one, and
    SIGTERM, end the command.

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
    async with _signalled(patient=True) as leave, serving as server:
        process = await asyncio.create_subprocess_exec(*command, env=environment(server))
        ended, left = asyncio.create_task(process.wait()), asyncio.create_task(leave.wait())
        try:
            await asyncio.wait({ended, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
            code = await _end(process, ended)
    return server, code if code >= 0 else 128 - code


async def _end(process: asyncio.subprocess.Process, ended: asyncio.Task[int]) -> int:
    """The exit code of a process that ended or is now told to."""
    if not ended.done():
        process.terminate()
        await asyncio.wait({ended}, timeout=_END_SECONDS)
    if not ended.done():
        process.kill()
    return await ended


@asynccontextmanager
async def _signalled(*, patient: bool = False) -> AsyncGenerator[asyncio.Event]:
    """An event that SIGINT and SIGTERM set, in place of what they did before.

    Args:
        patient: Whether the first SIGINT is passed over.
    """
    leave, loop = asyncio.Event(), asyncio.get_running_loop()

    def on_signal(number: int, _: object) -> None:
        nonlocal patient
        if number == signal.SIGINT and patient:
            patient = False
            return
        loop.call_soon_threadsafe(leave.set)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, on_signal) for number in numbers]
    try:
        yield leave
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
