"""Serves an application of the test itself: an MCP server, a remote agent, any other.

Knows applications by their ASGI interface only, so it imports no protocol package.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast

import anyio
from starlette.types import ASGIApp

from rasa_react_ext.testing.connection import OpenConnections
from rasa_react_ext.testing.lifetime import Listener, Serving
from rasa_react_ext.testing.log import RequestLog

__all__ = ["serve_application"]

_STREAM_LOGGERS = ("mcp.server.streamable_http", "uvicorn.error")


def serve_application(application: Any, port: int = 0) -> Serving[str]:
    """A server for an application; use it with `async with` or, in a thread, with `with`.

    Gives the URL: of the MCP endpoint for an MCP server, else the root.

    Args:
        application: An ASGI application, or an object with `streamable_http_app()` such as
            the MCP package's `FastMCP`, which can be served once in its life.
        port: Port on the loopback interface; 0 takes a free one.

    Raises:
        TypeError: It is neither.
    """
    build: Callable[[], Any] | None = getattr(application, "streamable_http_app", None)
    path = ""
    if build is not None:
        settings = getattr(application, "settings", None)
        path = str(getattr(settings, "streamable_http_path", "/mcp"))
        application = build()
    if not callable(application):
        raise TypeError(
            f"{application!r} cannot be served. Give an ASGI application or a FastMCP server."
        )
    connections = OpenConnections()
    listener = Listener(cast("ASGIApp", application), connections, port, lifespan=True)
    return Serving(listener, RequestLog(keep=0), lambda url: f"{url}{path}", _ends_unlogged())


@contextlib.asynccontextmanager
async def _ends_unlogged() -> AsyncGenerator[None]:
    """Event streams that the server's own end closes are logged as faults; nobody is to act."""
    loggers = [logging.getLogger(name) for name in _STREAM_LOGGERS]
    for logger in loggers:
        logger.addFilter(_is_no_end)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(_is_no_end)


def _is_no_end(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, anyio.ClosedResourceError | asyncio.CancelledError)
