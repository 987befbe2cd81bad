"""Server-sent events as one ASGI response, without watchers outside the request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import A2AError, InvalidRequestError
from google.protobuf.json_format import ParseError
from sse_starlette.event import ensure_bytes
from sse_starlette.sse import EventSourceResponse
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

__all__ = ["EventStream", "streaming_plainly"]

PING_SECONDS = 15.0
PING = b": ping\r\n\r\n"
SEPARATOR = "\r\n"
HEADERS: Mapping[str, str] = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}

Endpoint = Callable[[Request], Awaitable[Response]]


class EventStream(Response):
    """Sends events as they come, and a comment where none comes for long."""

    def __init__(self, events: AsyncGenerator[Any]) -> None:
        super().__init__(headers=dict(HEADERS))
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream; it is closed when the client goes away."""
        headers = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        coming: asyncio.Task[Any] | None = None
        try:
            while True:
                coming = coming or asyncio.create_task(_next(self._events))
                await asyncio.wait({coming}, timeout=PING_SECONDS)
                if not coming.done():
                    await send({"type": "http.response.body", "body": PING, "more_body": True})
                    continue
                item, coming = coming.result(), None
                if item is None:
                    break
                body = ensure_bytes(item, SEPARATOR)
                await send({"type": "http.response.body", "body": body, "more_body": True})
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.wait({coming})
            await self._events.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def streaming_plainly(endpoint: Endpoint) -> Endpoint:
    """The endpoint, its streams sent by `EventStream`.

    The package's own response starts a watcher per event loop that outlives the server.
    """

    async def plain(request: Request) -> Response:
        response = await endpoint(request)
        if not isinstance(response, EventSourceResponse):
            return _unreadable() if _is_package_fault(response) else response
        events = aiter(response.body_iterator)
        try:
            first = await _next(events)
        except (A2AError, ParseError) as error:
            payload = build_rest_error_payload(error)
            return JSONResponse(payload, status_code=payload["error"]["code"])
        except Exception:  # noqa: BLE001 - as below
            return _unreadable()
        return EventStream(_from(first, events))

    return plain


def _is_package_fault(response: Response) -> bool:
    """Whether the package broke while it read the request.

    Faults of our own are errors of the protocol by then, so what is left is a request
    that the package's reader did not expect.
    """
    return response.status_code == 500 and b'"unknown exception"' in bytes(response.body)


def _unreadable() -> Response:
    error = InvalidRequestError("the request cannot be read")
    return JSONResponse(build_rest_error_payload(error), status_code=400)


async def _from(first: Any, rest: AsyncIterator[Any]) -> AsyncGenerator[Any]:
    """A stream whose first event was awaited, so that what is refused gets its own status."""
    if first is None:
        return
    yield first
    try:
        async for item in rest:
            yield item
    except A2AError as error:
        yield {"event": "error", "data": json.dumps(build_rest_error_payload(error))}
    finally:
        close = getattr(rest, "aclose", None)
        if close is not None:
            await close()


async def _next(events: AsyncIterator[Any]) -> Any:
    return await anext(events, None)
