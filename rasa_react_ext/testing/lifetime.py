"""Starting and stopping a server: in the running loop, or in a thread with a loop of its own.

A started server is always stopped within a bounded time; signals are left alone.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from types import TracebackType
from typing import Generic, TypeVar

import uvicorn
from starlette.types import ASGIApp

from rasa_react_ext.errors import PeerError
from rasa_react_ext.testing.connection import OpenConnections
from rasa_react_ext.testing.log import RequestLog

__all__ = ["Listener", "Serving"]

S = TypeVar("S")

_HOST = "127.0.0.1"
_STOP_SECONDS = 5.0


class Listener:
    """A uvicorn server on a loopback port.

    Args:
        application: What it serves.
        connections: Gets its connections.
        port: Port to listen on; 0 takes a free one.
        lifespan: Whether the application is told of start and stop.
    """

    def __init__(
        self,
        application: ASGIApp,
        connections: OpenConnections,
        port: int,
        *,
        lifespan: bool = False,
    ) -> None:
        self._connections = connections
        self._port = port
        self._server = _Server(
            uvicorn.Config(
                application,
                http=connections.protocol(),
                ws="none",
                lifespan="on" if lifespan else "off",
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                backlog=2048,
                timeout_keep_alive=60,
                timeout_graceful_shutdown=1,
            )
        )
        self._task: asyncio.Task[None] | None = None
        self.url = ""

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: The port is taken.
            PeerError: The application refuses to start.
        """
        listening = _listen(self._port)
        self.url = f"http://{_HOST}:{listening.getsockname()[1]}"
        self._task = asyncio.create_task(self._server.serve([listening]), name="test-server")
        started = asyncio.create_task(self._server.ready.wait())
        try:
            await asyncio.wait({self._task, started}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            started.cancel()
        if self._task.done():
            failed, self._task = self._task, None
            listening.close()
            await failed

    async def stop(self) -> None:
        """Finish what is being answered, drop what waits, and close."""
        if self._task is None:
            return
        self._connections.abort_waiting()
        self._server.leave.set()
        try:
            await asyncio.wait({self._task}, timeout=_STOP_SECONDS)
        finally:
            self._task.cancel()
        if not self._task.cancelled() and self._task.done():
            self._task.result()


def _listen(port: int) -> socket.socket:
    """A bound socket; with the protocol named, asyncio switches Nagle's delay off."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((_HOST, port))
    except OSError as error:
        bound.close()
        # Named, so that a message made of the error says which port it was.
        raise type(error)(error.errno, error.strerror, f"{_HOST}:{port}") from error
    return bound


class _Server(uvicorn.Server):
    """Tells when it listens and leaves without polling; installs no signal handlers."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()
        self.leave = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except SystemExit as refusal:
            raise PeerError(
                "application", "The application did not start; its log says why."
            ) from refusal
        self.ready.set()

    async def main_loop(self) -> None:
        await self.leave.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class Serving(Generic[S]):
    """The lifetime of one server: `async with` it, or `with` it to run it in a thread.

    Args:
        listener: The server.
        log: Its request log.
        make: Gives what the `with` block works with, from the URL.
        resources: Held open while the server runs.
    """

    def __init__(
        self,
        listener: Listener,
        log: RequestLog,
        make: Callable[[str], S],
        *resources: AbstractAsyncContextManager[object],
    ) -> None:
        self._resources = resources
        self._listener = listener
        self._log = log
        self._make = make
        self._stack = AsyncExitStack()
        self._thread: threading.Thread | None = None
        self._leave: Callable[[], object] | None = None

    async def __aenter__(self) -> S:
        async with AsyncExitStack() as stack:
            self._log.open()
            stack.callback(self._log.close)
            for resource in self._resources:
                await stack.enter_async_context(resource)
            stack.push_async_callback(self._listener.stop)
            await self._listener.start()
            self._stack = stack.pop_all()
        return self._make(self._listener.url)

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def __enter__(self) -> S:
        ready: Future[S] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready)), name="test-server", daemon=True
        )
        self._thread.start()
        return ready.result(timeout=_STOP_SECONDS)

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._leave is not None and self._thread is not None:
            self._leave()
            self._thread.join(2 * _STOP_SECONDS)

    async def _serve(self, ready: Future[S]) -> None:
        """Run the server in this thread until told to leave."""
        loop, leave = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await self.__aenter__()
        except (OSError, PeerError) as error:
            ready.set_exception(error)
            return
        self._leave = lambda: loop.call_soon_threadsafe(leave.set)
        try:
            ready.set_result(server)
            await leave.wait()
        finally:
            await self.__aexit__(None, None, None)
