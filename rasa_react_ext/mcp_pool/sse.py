"""The older HTTP+SSE transport (MCP 2024-11-05): one stream in, posts out.

Owns the stream and the posts of one session. The stream's end is the end of the
session; a post that fails costs its own request only.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import httpx
from anyio.abc import TaskGroup, TaskStatus
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest

from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.client import NOT_SENT, http_client, in_words
from rasa_react_ext.mcp_pool.event_stream import TooLargeError, events
from rasa_react_ext.mcp_pool.refusal import refusal
from rasa_react_ext.mcp_pool.spec import ServerSpec
from rasa_react_ext.mcp_pool.wire import (
    MAX_MESSAGE_BYTES,
    Inbox,
    Loss,
    Outbox,
    Wire,
    encoded,
    lost_answer,
    parsed,
    put,
)

__all__ = ["open_sse"]

_POST_SECONDS = 30.0
_JSON = {"content-type": "application/json"}


@asynccontextmanager
async def open_sse(spec: ServerSpec, lost: Callable[[Loss], None]) -> AsyncGenerator[Wire]:
    """Open the stream and wait for the address of the posts.

    Args:
        spec: The server.
        lost: Told when the stream ends.

    Raises:
        PeerError: The stream could not be opened.
    """
    inbox, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    outgoing, outbox = anyio.create_memory_object_stream[SessionMessage](16)
    async with (
        inbox,
        incoming,
        outgoing,
        outbox,
        http_client(spec) as client,
        anyio.create_task_group() as tasks,
    ):
        wire = _Sse(spec, client, inbox, lost)
        address: httpx.URL = await tasks.start(wire.listen)
        tasks.start_soon(wire.pump, outbox, address, tasks)
        try:
            yield Wire(incoming=incoming, outgoing=outgoing)
        finally:
            tasks.cancel_scope.cancel()


class _Sse:
    def __init__(
        self,
        spec: ServerSpec,
        client: httpx.AsyncClient,
        inbox: Inbox,
        lost: Callable[[Loss], None],
    ) -> None:
        self._spec = spec
        self._client = client
        self._inbox = inbox
        self._lost = lost

    async def listen(self, *, task_status: TaskStatus[httpx.URL]) -> None:
        """Read the stream to its end; the first event tells where to post."""
        opened = False
        try:
            async with self._client.stream(
                "GET", self._spec.url, headers={"accept": "text/event-stream"}
            ) as response:
                await self._check(response)
                async for event in events(response.aiter_bytes(), MAX_MESSAGE_BYTES):
                    if event.name == "endpoint" and not opened:
                        task_status.started(self._address(event.data))
                        opened = True
                    elif event.name == "message" and event.data:
                        await put(self._inbox, parsed(event.data, None))
            reason = "the server closed the stream"
        except TooLargeError as error:
            reason = f"the answer is too large: {error}"
        except httpx.HTTPError as error:
            if not opened:
                raise ConnectionLostError(
                    self._spec.name, f"cannot connect: {in_words(error)}"
                ) from error
            reason = in_words(error)
        if not opened:
            raise PeerError(self._spec.name, "the stream names no address for messages")
        gone = OutcomeUnknownError(self._spec.name, f"connection lost: {reason}")
        self._lost(Loss(error=gone, at_once=True))

    async def pump(self, outbox: Outbox, address: httpx.URL, tasks: TaskGroup) -> None:
        """Post what the session writes; only the first notice must keep its place."""
        async for item in outbox:
            if isinstance(item.message.root, JSONRPCRequest):
                tasks.start_soon(self._post, item, address)
            else:
                await self._post(item, address)

    async def _post(self, item: SessionMessage, address: httpx.URL) -> None:
        """Post one message; a request that was not taken is answered with the reason."""
        error: PeerError = OutcomeUnknownError(self._spec.name, "the message was not taken in time")
        with anyio.move_on_after(_POST_SECONDS):
            try:
                async with self._client.stream(
                    "POST", address, content=encoded(item.message), headers=_JSON
                ) as response:
                    await self._check(response)
                    return
            except PeerError as refused:
                error = refused
            except NOT_SENT as cause:
                error = ConnectionLostError(self._spec.name, f"cannot connect: {in_words(cause)}")
                self._lost(Loss(error=error, at_once=False))
            except httpx.HTTPError as cause:
                text = f"connection lost: {in_words(cause)}"
                error = OutcomeUnknownError(self._spec.name, text)
        if isinstance(item.message.root, JSONRPCRequest):
            await put(self._inbox, lost_answer(item.message.root.id, error))

    async def _check(self, response: httpx.Response) -> None:
        if response.status_code < 300:
            return
        in_session = response.request.method == "POST"
        error, forgotten = await refusal(self._spec.name, response, in_session=in_session)
        if forgotten:
            self._lost(Loss(error=error, at_once=False))
        raise error

    def _address(self, data: str) -> httpx.URL:
        """Where to post; only the origin of the stream may see our headers."""
        here = httpx.URL(self._spec.url)
        there = here.join(data)
        if (there.scheme, there.host, there.port) != (here.scheme, here.host, here.port):
            raise PeerError(self._spec.name, "the address for messages is on another host")
        return there
