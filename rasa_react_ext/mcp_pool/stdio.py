"""The stdio transport: a server that is a child process (MCP "Transports", stdio).

Owns the child from start to reaping. It leads a process group of its own, and
whatever it started is gone when the transport is closed.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from rasa_react_ext.errors import OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.event import PoolEvent, Report
from rasa_react_ext.mcp_pool.spec import ServerSpec
from rasa_react_ext.mcp_pool.wire import (
    MAX_MESSAGE_BYTES,
    Inbox,
    Loss,
    Outbox,
    Wire,
    encoded,
    parsed,
    put,
)

__all__ = ["open_stdio"]

_CHUNK_BYTES = 65_536
_EXIT_SECONDS = 1.0
_TERMINATE_SECONDS = 1.0
_ORPHAN_SECONDS = 0.2
_POLL_SECONDS = 0.01
_STDERR_LINE = 2_000


@asynccontextmanager
async def open_stdio(
    spec: ServerSpec, lost: Callable[[Loss], None], report: Report
) -> AsyncGenerator[Wire]:
    """Start the child and speak with it over its standard streams.

    Args:
        spec: The server.
        lost: Told when the child closes its output or ends.
        report: Gets each line the child writes to its standard error.

    Raises:
        PeerError: The child could not be started.
    """
    inbox, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    outgoing, outbox = anyio.create_memory_object_stream[SessionMessage](16)
    async with inbox, incoming, outgoing, outbox:
        process = await _start(spec)
        try:
            async with anyio.create_task_group() as tasks:
                child = _Child(spec.name, process, lost, report)
                tasks.start_soon(child.read, inbox)
                tasks.start_soon(child.write, outbox)
                tasks.start_soon(child.log)
                try:
                    yield Wire(incoming=incoming, outgoing=outgoing)
                finally:
                    with anyio.CancelScope(shield=True):
                        await _end(process)
                    tasks.cancel_scope.cancel()
        finally:
            _signal_group(process.pid, signal.SIGKILL)  # also when the polite way was cut short
            _close_pipes(process)


async def _start(spec: ServerSpec) -> Process:
    try:
        return await asyncio.create_subprocess_exec(
            spec.command,
            *spec.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE if os.name == "posix" else DEVNULL,
            env={**get_default_environment(), **spec.env},
            cwd=spec.cwd,
            start_new_session=True,
        )
    except OSError as error:
        raise PeerError(spec.name, f"cannot start {spec.command!r}: {error.strerror}") from error


class _Child:
    """The three streams of one child."""

    def __init__(
        self, name: str, process: Process, lost: Callable[[Loss], None], report: Report
    ) -> None:
        self._name = name
        self._process = process
        self._lost = lost
        self._report = report

    async def read(self, inbox: Inbox) -> None:
        """Pass on the child's messages, one a line; its end is the end of the wire."""
        assert self._process.stdout is not None
        buffer = bytearray()
        while chunk := await self._process.stdout.read(_CHUNK_BYTES):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                buffer += line
                if buffer.strip():
                    await put(inbox, parsed(bytes(buffer), None))
                buffer.clear()
            buffer += rest
            if len(buffer) > MAX_MESSAGE_BYTES:
                self._lose("the server process sent a message that is too large")
                return
        await _exited(self._process, _EXIT_SECONDS)
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended with exit code {code}"
        self._lose(f"the server process {how}")

    async def write(self, outbox: Outbox) -> None:
        """Write the session's messages, one a line."""
        assert self._process.stdin is not None
        try:
            async for item in outbox:
                self._process.stdin.write(encoded(item.message) + b"\n")
                await self._process.stdin.drain()
        except (ConnectionError, OSError) as error:
            self._lose(f"the server process takes no input: {type(error).__name__}")

    async def log(self) -> None:
        """Report each line of the child's standard error."""
        assert self._process.stderr is not None
        buffer = b""
        while chunk := await self._process.stderr.read(_CHUNK_BYTES):
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                self._say(line)
            buffer = buffer[-_STDERR_LINE:]
        self._say(buffer)

    def _say(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip()[:_STDERR_LINE]
        if text:
            self._report(PoolEvent(kind="stderr", server=self._name, text=text))

    def _lose(self, reason: str) -> None:
        self._lost(Loss(error=OutcomeUnknownError(self._name, reason), at_once=True))


async def _end(process: Process) -> None:
    """Close the input, wait, terminate the group, wait, kill the group, reap."""
    assert process.stdin is not None
    process.stdin.close()
    await _exited(process, _EXIT_SECONDS)
    grace = _TERMINATE_SECONDS if process.returncode is None else _ORPHAN_SECONDS
    if _signal_group(process.pid, signal.SIGTERM):
        await _exited(process, grace, whole_group=True)
        _signal_group(process.pid, signal.SIGKILL)
    await _exited(process, _EXIT_SECONDS)


async def _exited(process: Process, seconds: float, *, whole_group: bool = False) -> None:
    """Wait until the child is reaped, and its group is empty if asked for.

    Looks again and again: `Process.wait` would wait for grandchildren that hold the pipes.
    """
    with anyio.move_on_after(seconds):
        while process.returncode is None or (  # noqa: ASYNC110
            whole_group and _signal_group(process.pid, 0)
        ):
            await anyio.sleep(_POLL_SECONDS)


def _signal_group(pid: int, number: int) -> bool:
    """Signal all processes of the child's group; False when none is left."""
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _close_pipes(process: Process) -> None:
    """Close our ends at once; a grandchild may still hold the others."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        with suppress(ProcessLookupError):
            transport.close()
