"""MCP servers for tests: real ones, on loopback, that can be counted, broken and restarted."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import uvicorn
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
Fault = Callable[[dict[str, Any], Scope, Send], Awaitable[bool]]
"""Sees a POSTed message first; True when it has answered."""


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def shop(done: Counter[str], cancelled: list[str] | None = None) -> FastMCP:
    """A small server whose tools count what they do in `done`."""
    server = FastMCP("shop", log_level="CRITICAL")

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    async def echo(text: str) -> str:
        """Say the text again."""
        done["echo"] += 1
        return text

    @server.tool()
    async def order(item: str) -> str:
        """Order an item; calling twice orders twice."""
        done[f"order {item}"] += 1
        return f"ordered {item}"

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    async def slow(seconds: float) -> str:
        """Answer late."""
        done["slow started"] += 1
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            done["slow cancelled"] += 1
            raise
        return "late"

    @server.tool()
    async def fail() -> str:
        """Always fails."""
        raise ValueError("card blocked")

    @server.tool()
    async def change(context: Context[Any, Any, Any], name: str) -> str:
        """Add a tool and say so."""
        server.add_tool(lambda: name, name=name, description="new")
        await context.session.send_tool_list_changed()
        return "changed"

    return server


class _Crashing(uvicorn.Server):
    """Ends as a crash does: connections break in the middle of whatever they do."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await super().shutdown(sockets)
        await asyncio.sleep(0)


class Served:
    """An ASGI application served by a thread, at the same address after each restart.

    Attributes:
        seen: Counts of requests by JSON-RPC method, and of HTTP methods.
        notices: Notifications the clients sent.
        connections: Number of TCP connections accepted so far, by client port.
        fault: Sees every POSTed message before the application does.
    """

    def __init__(self, build: Callable[[], Asgi], path: str = "/mcp", **settings: Any) -> None:
        self._build = build
        self._settings = settings
        self.port = free_port()
        scheme = "https" if "ssl_certfile" in settings else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}{path}"
        self.seen: Counter[str] = Counter()
        self.notices: list[dict[str, Any]] = []
        self.connections: set[int] = set()
        self.sessions_named: list[str | None] = []
        self.fault: Fault | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Serve; returns when connections are accepted."""
        config = uvicorn.Config(
            self._watched(self._build()),
            host="127.0.0.1",
            port=self.port,
            log_level="critical",
            timeout_graceful_shutdown=0,
            lifespan="on",
            **self._settings,
        )
        self._server = _Crashing(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            assert time.monotonic() < deadline, "the server does not start"
            assert self._thread.is_alive(), "the server died"
            time.sleep(0.01)

    def stop(self) -> None:
        """Drop everything at once, as a crash would."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=20)
            assert not self._thread.is_alive(), "the server does not stop"
            self._server = self._thread = None

    def restart(self) -> None:
        """Stop and serve a new application at the same address."""
        self.stop()
        self.start()

    def _watched(self, app: Asgi) -> Asgi:
        async def watch(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            self.connections.add(scope["client"][1])
            self.seen[scope["method"]] += 1
            body = await _whole_body(receive) if scope["method"] == "POST" else b""
            message = json.loads(body) if body.startswith(b"{") else {}
            if message:
                self._note(message)
                if self.fault is not None and await self.fault(message, scope, send):
                    return
            await app(scope, _replay(body, receive) if body else receive, send)

        return watch

    def _note(self, message: dict[str, Any]) -> None:
        method = message.get("method", "answer")
        self.seen[method] += 1
        if "id" not in message:
            self.notices.append(message)


async def _whole_body(receive: Receive) -> bytes:
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            return body


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> MutableMapping[str, Any]:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


EVENTS = (b"content-type", b"text/event-stream")
JSON = (b"content-type", b"application/json")


async def respond(
    send: Send, status: int, body: bytes = b"", *headers: tuple[bytes, bytes], more: bool = False
) -> None:
    """Begin, and unless `more` follows end, an HTTP response."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body, "more_body": more})


def answers(status: int, body: bytes = b"", kind: bytes = b"application/json") -> Fault:
    """A fault that answers every tool call with this status."""

    async def fault(message: dict[str, Any], scope: Scope, send: Send) -> bool:
        if message.get("method") != "tools/call":
            return False
        await respond(send, status, body, (b"content-type", kind))
        return True

    return fault


@contextlib.contextmanager
def serving(build: Callable[[], Asgi], path: str = "/mcp", **settings: Any) -> Iterator[Served]:
    """Serve for the length of a `with`; settings go to uvicorn."""
    served = Served(build, path, **settings)
    served.start()
    try:
        yield served
    finally:
        served.stop()
