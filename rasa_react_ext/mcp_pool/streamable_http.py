"""The streamable HTTP transport (MCP 2025-06-18 and 2025-11-25, "Transports").

Owns the requests of one session. Each request is answered exactly once, whatever
the network does; one that fails never takes its siblings with it. Response streams
are read to their end, so that connections are used again.

Everything here is cancelled through scopes of anyio, never as a bare task: the HTTP
client shields its cleaning up from scopes only, and would lose its sockets otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import anyio
import httpx
from anyio.abc import TaskGroup
from mcp.shared.message import SessionMessage
from mcp.types import (
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.client import NOT_SENT, http_client, in_words
from rasa_react_ext.mcp_pool.event_stream import TooLargeError, events
from rasa_react_ext.mcp_pool.refusal import moved, refusal
from rasa_react_ext.mcp_pool.spec import ServerSpec
from rasa_react_ext.mcp_pool.wire import (
    MAX_MESSAGE_BYTES,
    Inbox,
    Loss,
    Outbox,
    UnrepeatableError,
    Wire,
    encoded,
    lost_answer,
    parsed,
    put,
)

__all__ = ["open_streamable_http"]

_SESSION = "mcp-session-id"
_NOTICE_SECONDS = 5.0
_FAREWELL_SECONDS = 2.0
_DRAIN_SECONDS = 1.0
_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 30.0
_STEADY_SECONDS = 5.0
_RESUMPTIONS = 5
_REDIRECTS = 3


@asynccontextmanager
async def open_streamable_http(
    spec: ServerSpec, lost: Callable[[Loss], None]
) -> AsyncGenerator[Wire]:
    """Open the transport; nothing is sent before the first message.

    Args:
        spec: The server.
        lost: Told when the server no longer knows the session or cannot be reached.
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
        server = _Server(spec, client, lost)
        sender = _Sender(server, inbox, tasks)
        tasks.start_soon(sender.pump, outbox)
        try:
            yield Wire(incoming=incoming, outgoing=outgoing)
        finally:
            with anyio.move_on_after(_FAREWELL_SECONDS, shield=True):
                await sender.flush(outbox)
            tasks.cancel_scope.cancel()
            await server.say_goodbye()


class _Server:
    """The endpoint: address, session headers and the meaning of each status."""

    def __init__(
        self, spec: ServerSpec, client: httpx.AsyncClient, lost: Callable[[Loss], None]
    ) -> None:
        self.name = spec.name
        self._client = client
        self._lost = lost
        self._url = httpx.URL(spec.url)
        self._headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        self._open = False

    @property
    def speaks(self) -> bool:
        """Whether there is a session in which the server may send of its own."""
        return self._open and _SESSION in self._headers

    def starts(self, response: httpx.Response) -> None:
        """Keep the session id that came with the answer to `initialize`."""
        if session_id := response.headers.get(_SESSION):
            self._headers[_SESSION] = session_id

    def agrees(self, version: str) -> None:
        """The session is open; from now on each request names the protocol version."""
        self._open = True
        self._headers["mcp-protocol-version"] = version

    @asynccontextmanager
    async def exchange(
        self, method: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[httpx.Response]:
        """Send one request and hold its open response.

        Raises:
            ConnectionLostError: It surely did not start.
            OutcomeUnknownError: It was sent, and nobody knows.
            PeerError: The server refused it.
        """
        try:
            for _ in range(_REDIRECTS + 1):
                async with self._client.stream(
                    method, self._url, content=body, headers={**self._headers, **(headers or {})}
                ) as response:
                    target = moved(response)
                    if target is None:
                        await self._check(response)
                        yield response
                        return
                self._url = target
            raise PeerError(self.name, "too many redirects; set url to the final address")
        except NOT_SENT as error:
            raise self._unreachable(error) from error
        except httpx.HTTPError as error:
            raise OutcomeUnknownError(self.name, f"connection lost: {in_words(error)}") from error
        except TooLargeError as error:
            raise UnrepeatableError(self.name, f"the answer is too large: {error}") from error

    async def say_goodbye(self) -> None:
        """End the session at the server, if it still knows it."""
        if self.speaks:
            with suppress(PeerError), anyio.move_on_after(_FAREWELL_SECONDS, shield=True):
                async with self.exchange("DELETE"):
                    self._open = False

    async def _check(self, response: httpx.Response) -> None:
        if response.status_code < 300:
            return
        named = _SESSION in response.request.headers
        error, forgotten = await refusal(self.name, response, in_session=named)
        if forgotten:
            self._lose(error)
        raise error

    def _unreachable(self, error: httpx.HTTPError) -> PeerError:
        if error.request.url.host != self._url.host or error.request.url.port != self._url.port:
            return PeerError(self.name, f"cannot authenticate: {in_words(error)}")
        gone = ConnectionLostError(self.name, f"cannot connect: {in_words(error)}")
        self._lose(gone)
        return gone

    def _lose(self, error: PeerError) -> None:
        if self._open:
            self._open = False
            self._lost(Loss(error=error, at_once=False))


class _Sender:
    """Everything in flight in one session."""

    def __init__(self, server: _Server, inbox: Inbox, tasks: TaskGroup) -> None:
        self._server = server
        self._inbox = inbox
        self._tasks = tasks
        self._requests: dict[RequestId, anyio.CancelScope] = {}
        self._notices = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def pump(self, outbox: Outbox) -> None:
        """Send what the session writes; requests run side by side."""
        async for item in outbox:
            root = item.message.root
            if isinstance(root, JSONRPCRequest):
                scope = self._requests[root.id] = anyio.CancelScope()
                self._tasks.start_soon(self._request, item.message, root, scope)
            elif _method(root) == "notifications/initialized":
                await self._notify(item.message)
                self._tasks.start_soon(self._listen)
            else:
                self._notices += 1
                self._quiet.clear()
                self._tasks.start_soon(self._notice, item.message)

    async def flush(self, outbox: Outbox) -> None:
        """Let the last notices reach the server, which may call off what it still does."""
        with suppress(anyio.WouldBlock, anyio.EndOfStream, anyio.ClosedResourceError):
            while True:
                last = outbox.receive_nowait().message
                if isinstance(last.root, JSONRPCNotification):
                    await self._notify(last)
        await self._quiet.wait()

    async def _notice(self, message: JSONRPCMessage) -> None:
        try:
            await self._notify(message)
        finally:
            self._notices -= 1
            if not self._notices:
                self._quiet.set()

    async def _request(
        self, message: JSONRPCMessage, request: JSONRPCRequest, scope: anyio.CancelScope
    ) -> None:
        """Send one request; an answer reaches the session unless the scope is cancelled."""
        answer = _Answer(self._server, self._inbox, request)
        try:
            with scope:
                async with self._server.exchange("POST", encoded(message)) as response:
                    await answer.read(response)
                await self._resume(answer)
        except PeerError as error:
            if not answer.complete:
                await put(self._inbox, lost_answer(request.id, error))
        finally:
            self._requests.pop(request.id, None)

    async def _resume(self, answer: _Answer) -> None:
        """Ask for the rest of a stream that ended before its answer."""
        attempt = 0
        while not answer.complete and answer.last_event_id and attempt < _RESUMPTIONS:
            await anyio.sleep(answer.retry_seconds(attempt))
            attempt += 1
            headers = {"last-event-id": answer.last_event_id}
            with suppress(ConnectionLostError, OutcomeUnknownError):
                async with self._server.exchange("GET", headers=headers) as response:
                    await answer.read(response)
        if not answer.complete:
            raise OutcomeUnknownError(
                self._server.name, "connection lost: the server closed the stream without an answer"
            )

    async def _notify(self, message: JSONRPCMessage) -> None:
        """Send what needs no answer; a failure shows at the next request."""
        with suppress(PeerError), anyio.move_on_after(_NOTICE_SECONDS):
            async with self._server.exchange("POST", encoded(message)) as response:
                await response.aread()
        root = message.root
        if isinstance(root, JSONRPCNotification) and root.method == "notifications/cancelled":
            abandoned = self._requests.get((root.params or {}).get("requestId", ""))
            if abandoned is not None:
                abandoned.cancel()

    async def _listen(self) -> None:
        """Keep one stream of server messages open while the session lives."""
        last_id, failures, pause = "", 0, _FIRST_RETRY_SECONDS
        while self._server.speaks:
            headers, opened = {"last-event-id": last_id} if last_id else {}, anyio.current_time()
            try:
                async with self._server.exchange("GET", headers=headers) as response:
                    async for event in events(response.aiter_bytes(), MAX_MESSAGE_BYTES):
                        last_id = event.id or last_id
                        pause = event.retry_ms / 1000 if event.retry_ms is not None else pause
                        if event.data and event.name == "message":
                            await put(self._inbox, parsed(event.data, None))
            except (ConnectionLostError, OutcomeUnknownError):
                pass
            except PeerError:
                return  # this server sends nothing of its own
            failures = 0 if anyio.current_time() - opened > _STEADY_SECONDS else failures + 1
            await anyio.sleep(min(pause * 2 ** min(failures, 10), _LAST_RETRY_SECONDS))


class _Answer:
    """The answer to one request, over as many streams as it takes."""

    def __init__(self, server: _Server, inbox: Inbox, request: JSONRPCRequest) -> None:
        self._server = server
        self._inbox = inbox
        self._id = request.id
        self._starting = request.method == "initialize"
        self._retry_ms: int | None = None
        self.last_event_id = ""
        self.complete = False

    def retry_seconds(self, attempt: int) -> float:
        """Pause the server asked for, else a growing one of our own."""
        if self._retry_ms is not None:
            return self._retry_ms / 1000
        return _FIRST_RETRY_SECONDS * 2**attempt

    async def read(self, response: httpx.Response) -> None:
        """Read one response to its end.

        Raises:
            OutcomeUnknownError: It holds no MCP messages.
        """
        if self._starting:
            self._server.starts(response)
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith("application/json"):
            await self._take(await _whole(response))
        elif kind.startswith("text/event-stream"):
            await self._read_events(response)
        else:
            raise OutcomeUnknownError(
                self._server.name, f"not an MCP answer: content type {kind or 'none'!r}"
            )

    async def _read_events(self, response: httpx.Response) -> None:
        with anyio.CancelScope() as drain:  # an end that stays open is given up after a moment
            async for event in events(response.aiter_bytes(), MAX_MESSAGE_BYTES):
                self.last_event_id = event.id or self.last_event_id
                if event.retry_ms is not None:
                    self._retry_ms = event.retry_ms
                if event.data and event.name == "message":
                    await self._take(event.data)
                if self.complete:
                    drain.deadline = anyio.current_time() + _DRAIN_SECONDS

    async def _take(self, data: str | bytes) -> None:
        item = parsed(data, self._id)
        root = item.message.root if isinstance(item, SessionMessage) else None
        if isinstance(root, JSONRPCResponse | JSONRPCError):
            self.complete = True
            if self._starting and isinstance(root, JSONRPCResponse):
                self._server.agrees(str(root.result.get("protocolVersion", "")))
        await put(self._inbox, item)


async def _whole(response: httpx.Response) -> bytes:
    """The body of a response, as far as one message may go."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_MESSAGE_BYTES:
            raise TooLargeError(f"more than {MAX_MESSAGE_BYTES} bytes")
    return bytes(body)


def _method(root: object) -> str:
    return root.method if isinstance(root, JSONRPCNotification) else ""
