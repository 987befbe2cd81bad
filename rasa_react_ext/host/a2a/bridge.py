"""Serves an ASGI application on the host's own port, streams included.

The host's server cancels a handler whose client goes away; the cancellation passes
into the application. A body that is not read is dropped by the host's server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from sanic import Blueprint, HTTPResponse
from sanic.compat import Header
from sanic.request import Request
from starlette.types import ASGIApp, Message

__all__ = ["bridge"]

ALL = ("GET", "POST", "PUT", "PATCH", "DELETE")
PATHS: Mapping[str, tuple[str, ...]] = {
    "/": ("POST",),
    "/.well-known/agent-card.json": ("GET",),
    "/.well-known/agent.json": ("GET",),
    # The host's router does not find a plain path with a colon.
    r"/<verb:message\x3a(?:send|stream)>": ALL,
    "/tasks": ALL,
    "/tasks/<rest:path>": ALL,
    "/extendedAgentCard": ALL,
    "/v1/<rest:path>": ALL,
    "/a2a/health": ("GET",),
    "/a2a/metrics": ("GET",),
}
"""What the application serves; all other paths stay the host's."""


def bridge(app: ASGIApp, *, prefix: str) -> Blueprint:
    """A blueprint that hands requests to an application.

    Args:
        app: The application.
        prefix: Path the blueprint is mounted at, which the application does not see.
    """
    blueprint = Blueprint("rasa_react_ext_a2a_server")
    below = prefix.rstrip("/")

    async def handle(request: Request, **_: Any) -> HTTPResponse | None:
        return await _Exchange(request, below).run(app)

    for index, (path, methods) in enumerate(PATHS.items()):
        blueprint.add_route(handle, path, methods=methods, stream=True, name=f"route_{index}")
    return blueprint


class _Exchange:
    """One request and its answer."""

    def __init__(self, request: Request, prefix: str) -> None:
        self._request = request
        self._prefix = prefix
        self._read = False
        self._start: Message = {}
        self._whole: HTTPResponse | None = None
        self._stream: Any = None

    async def run(self, app: ASGIApp) -> HTTPResponse | None:
        await app(self._scope(), self._receive, self._send)
        return self._whole

    def _scope(self) -> dict[str, Any]:
        request = self._request
        url = urlsplit(request.raw_url)
        path = url.path.removeprefix(self._prefix.encode("latin-1")) or b"/"
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": request.version,
            "method": request.method,
            "scheme": request.scheme,
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": url.query,
            "root_path": "",
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1", "surrogateescape"))
                for name, value in request.headers.items()
            ],
            "client": (request.ip, request.port or 0),
            "server": None,
        }

    async def _receive(self) -> Message:
        if self._read:
            # Nothing more comes; a client that goes away cancels this wait.
            await asyncio.Event().wait()
        stream: Any = self._request.stream
        chunk = await stream.read() if stream is not None else None
        self._read = chunk is None
        return {"type": "http.request", "body": chunk or b"", "more_body": not self._read}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._stream is None and not more:
            status, headers = self._head()
            self._whole = HTTPResponse(body, status=status, headers=headers)
            return
        if self._stream is None:
            status, headers = self._head()
            self._stream = await self._request.respond(status=status, headers=headers)
        if body:
            await self._stream.send(body)
        if not more:
            await self._stream.eof()

    def _head(self) -> tuple[int, Header]:
        """Status and headers; the host's server counts lengths by itself."""
        headers = Header()
        for name, value in self._start["headers"]:
            text = name.decode("latin-1")
            if text.lower() != "content-length":
                headers.add(text, value.decode("latin-1"))
        return self._start["status"], headers
