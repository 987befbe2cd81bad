"""One HTTP exchange on the wire: reads the body, performs a reply, drops connections.

Dropping needs the transport, which ASGI does not show; `OpenConnections` remembers it.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from rasa_react_ext.testing.reply import Reply

__all__ = ["Connection", "OpenConnections"]

T = TypeVar("T")


class OpenConnections:
    """The connections of one server, by the client's address."""

    def __init__(self) -> None:
        self._transports: dict[tuple[str, int], asyncio.Transport] = {}
        self._waiting: set[asyncio.Transport] = set()
        self.closing = False

    def protocol(self) -> type[asyncio.Protocol]:
        """The HTTP protocol of uvicorn, noting its connections here."""
        transports = self._transports

        class TrackedProtocol(AutoHTTPProtocol):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                self._peer = _address(transport.get_extra_info("peername"))
                transports[self._peer] = cast("asyncio.Transport", transport)

            def connection_lost(self, exc: Exception | None) -> None:
                transports.pop(self._peer, None)
                super().connection_lost(exc)

        return TrackedProtocol

    def of(self, scope: Scope) -> asyncio.Transport | None:
        """The connection of a request; None when it is closed."""
        return self._transports.get(_address(scope["client"]))

    @contextmanager
    def waits(self, transport: asyncio.Transport) -> Generator[None]:
        """Mark a connection whose exchange waits on purpose."""
        self._waiting.add(transport)
        try:
            yield
        finally:
            self._waiting.discard(transport)

    def abort_waiting(self) -> None:
        """Close the connections that wait on purpose, so that stopping is quick.

        From now on no exchange starts to wait.
        """
        self.closing = True
        for transport in tuple(self._waiting):
            transport.abort()


def _address(peer: Sequence[Any]) -> tuple[str, int]:
    return str(peer[0]), int(peer[1])


class Connection:
    """The server's side of one exchange.

    Args:
        scope: ASGI scope.
        receive: ASGI receive.
        send: ASGI send.
        connections: The connections of the server.
    """

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, connections: OpenConnections
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._connections = connections

    async def read(self) -> bytes:
        """The request body."""
        message = await self._receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await self._receive()
            body += message.get("body", b"")
        return body

    async def start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Begin a response whose body comes piece by piece, through `write()`."""
        await self._send(
            {"type": "http.response.start", "status": status, "headers": list(headers)}
        )

    async def write(self, piece: bytes, *, more: bool = True) -> None:
        """Send a piece of the body."""
        await self._send({"type": "http.response.body", "body": piece, "more_body": more})

    async def drop(self) -> None:
        """Close the connection under the response."""
        await self._drop(reset=False)

    async def unless_left(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of some work, or None as soon as the client leaves; then it is cancelled.

        Args:
            work: Answers the request that was read.
        """
        task, left = asyncio.create_task(work), asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({task, left}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else None
        finally:
            task.cancel()
            left.cancel()
            await asyncio.gather(task, left, return_exceptions=True)

    async def perform(self, reply: Reply) -> bool:
        """Carry out a reply; False when the client left before it was complete."""
        if reply.delay_seconds and await self._left_within(reply.delay_seconds):
            return False
        if reply.ending == "hang" and await self._left_within(reply.hang_seconds):
            return False
        if reply.ending in ("hang", "reset"):
            await self._drop(reset=True)
            return True
        await self._send({"type": "http.response.start", **_start(reply)})
        whole, last = reply.ending == "whole", len(reply.chunks) - 1
        for position, chunk in enumerate(reply.chunks):
            pause = reply.interval_seconds if position else 0
            if pause and await self._left_within(pause):
                return False
            more = not (whole and position == last)
            await self._send({"type": "http.response.body", "body": chunk, "more_body": more})
        if not whole:
            await self._drop(reset=False)
        return True

    async def _left_within(self, seconds: float) -> bool:
        """Wait; True as soon as the client leaves (or the server stops)."""
        transport = self._connections.of(self._scope)
        if transport is None:
            return True
        if self._connections.closing:
            transport.abort()
            return True
        try:
            with self._connections.waits(transport):
                async with asyncio.timeout(seconds):
                    await self._receive()
        except TimeoutError:
            return False
        return True

    async def _drop(self, *, reset: bool) -> None:
        """Close the connection under the response, and wait until it is closed."""
        transport = self._connections.of(self._scope)
        if transport is None:
            return
        if reset:
            _send_reset_on_close(transport)
            transport.abort()
        else:
            transport.close()
        await self._receive()


def _send_reset_on_close(transport: asyncio.Transport) -> None:
    """Without lingering, closing a TCP connection sends RST instead of FIN (socket(7))."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _start(reply: Reply) -> dict[str, Any]:
    headers = [(b"content-type", reply.content_type.encode())]
    if reply.length is not None:
        headers.append((b"content-length", str(reply.length).encode()))
    headers += [(name.encode(), value.encode("latin-1")) for name, value in reply.headers.items()]
    return {"status": reply.status, "headers": headers}
