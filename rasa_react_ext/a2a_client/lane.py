"""What belongs to one agent in one event loop: HTTP client, card, and the SDK's clients."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeVar, cast

import httpx
from a2a.client import Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from a2a.utils.constants import TransportProtocol

from rasa_react_ext.a2a_client.auth import RenewingAuth
from rasa_react_ext.a2a_client.card_source import is_address, read_card
from rasa_react_ext.a2a_client.fault import read_fault
from rasa_react_ext.a2a_client.grpc_channel import open_channel
from rasa_react_ext.a2a_client.spec import AgentSpec
from rasa_react_ext.a2a_wire import AgentCard, StreamResponse, Task
from rasa_react_ext.a2a_wire.interface import TRANSPORTS, choose_interface

__all__ = ["Lane"]

CONNECT_SECONDS = 10.0
DRAIN_SECONDS = 1.0
FINALIZER_TURNS = 50
# Shorter than what common servers keep a silent connection for: a message that meets its end
# has an unknown fate.
IDLE_SECONDS = 2.0
_MODES = ["text", "text/plain", "application/json"]
_T = TypeVar("_T")


class Lane:
    """One agent as seen from one event loop.

    Opened with the first use and closed with `aclose`; may be used by any number of
    conversations at once.
    """

    def __init__(self, spec: AgentSpec) -> None:
        self._spec = spec
        self._auth = RenewingAuth(spec.name, spec.make_auth) if spec.make_auth else None
        self._http = httpx.AsyncClient(
            auth=self._auth,
            verify=_trust(spec.authorities),
            timeout=httpx.Timeout(None, connect=min(CONNECT_SECONDS, spec.timeout_seconds)),
            limits=httpx.Limits(
                max_connections=None,
                max_keepalive_connections=50,
                keepalive_expiry=IDLE_SECONDS,
            ),
        )
        self._lock = asyncio.Lock()
        self._card: AgentCard | None = None
        self._read_at = 0.0
        self._streaming: Client | None = None
        self._asking: Client | None = None
        self._draining: set[asyncio.Task[None]] = set()

    async def card(self, *, attempts: int = 1, newer_than: float = 0.0) -> AgentCard:
        """The card; read again when it is stale or older than asked for.

        Raises:
            ConfigurationError: The card file is missing or unusable.
            ConnectionLostError: The agent could not be reached.
            PeerError: It gave no usable card.
        """
        async with self._lock:
            stale = time.monotonic() - self._read_at > self._spec.card_seconds
            if self._card is None or stale or self._read_at < newer_than:
                await self._read(attempts)
            assert self._card is not None
            return self._card

    async def _read(self, attempts: int) -> None:
        old = self._card
        try:
            card = await read_card(self._spec, self._http, attempts=attempts)
        except Exception:
            # What was read before still holds while the place of the card is down.
            if old is None or not is_address(self._spec.card):
                raise
            card = old
        self._read_at = time.monotonic()
        if old is not None and card == old:
            return
        self._card = card
        self._streaming = self._client(card, streaming=True)
        self._asking = self._client(card, streaming=False)

    def _client(self, card: AgentCard, *, streaming: bool) -> Client:
        config = ClientConfig(
            httpx_client=self._http,
            streaming=streaming,
            supported_protocol_bindings=list(TRANSPORTS),
            accepted_output_modes=list(_MODES),
            grpc_channel_factory=partial(open_channel, authorities=self._spec.authorities),
        )
        chosen = AgentCard()
        chosen.CopyFrom(card)
        del chosen.supported_interfaces[:]
        chosen.supported_interfaces.append(choose_interface(card))
        return ClientFactory(config).create(chosen)

    # Calls

    async def send(
        self, request: SendMessageRequest, *, streaming: bool
    ) -> AsyncGenerator[StreamResponse]:
        """Send a message; what comes back, until the agent ends the answer."""
        client = self._streaming if streaming else self._asking
        assert client is not None
        async for response in self._stream(
            lambda context: client.send_message(request, context=context)
        ):
            yield response

    async def subscribe(self, task_id: str) -> AsyncGenerator[StreamResponse]:
        """Listen to a task that is already running."""
        client = self._streaming
        assert client is not None
        request = SubscribeToTaskRequest(id=task_id)
        async for response in self._stream(
            lambda context: client.subscribe(request, context=context)
        ):
            yield response

    def drain(self, stream: AsyncGenerator[StreamResponse]) -> None:
        """Read a stream to its end, which is near, and let its connection be used again."""
        task = asyncio.get_running_loop().create_task(
            _drained(stream), name=f"end of a stream of {self._spec.name}"
        )
        self._draining.add(task)
        task.add_done_callback(self._draining.discard)

    async def task(self, task_id: str) -> Task:
        """The task as it is now."""
        client = self._asking
        assert client is not None
        request = GetTaskRequest(id=task_id)
        return await self._call(lambda context: client.get_task(request, context=context))

    async def cancel(self, task_id: str) -> Task:
        """Ask the agent to stop a task."""
        client = self._asking
        assert client is not None
        request = CancelTaskRequest(id=task_id)
        return await self._call(lambda context: client.cancel_task(request, context=context))

    async def find_task(self, context_id: str, message_id: str) -> Task | None:
        """The task that a message began, if the agent lists its tasks."""
        client = self._asking
        assert client is not None
        request = ListTasksRequest(context_id=context_id, page_size=20, history_length=20)
        page = await self._call(lambda context: client.list_tasks(request, context=context))
        for task in page.tasks:
            if any(message.message_id == message_id for message in task.history):
                return task
        return None

    async def extended_card(self) -> AgentCard:
        """The card for those who are known to the agent: a read that costs nothing."""
        client = self._asking
        assert client is not None
        request = GetExtendedAgentCardRequest()
        return await self._call(
            lambda context: client.get_extended_agent_card(request, context=context)
        )

    async def _call(self, call: Callable[[ClientCallContext | None], Awaitable[_T]]) -> _T:
        used = self._auth.scheme if self._auth else None
        try:
            return await call(await self._context())
        except Exception as error:
            if not self._may_sign_again(error, used):
                raise
        return await call(await self._context())

    async def _stream(
        self, call: Callable[[ClientCallContext | None], AsyncIterator[StreamResponse]]
    ) -> AsyncGenerator[StreamResponse]:
        used, begun = (self._auth.scheme if self._auth else None), False
        try:
            async with aclosing(_generator(call(await self._context()))) as responses:
                async for response in responses:
                    begun = True
                    yield response
            return
        except Exception as error:
            if begun or not self._may_sign_again(error, used):
                raise
        async with aclosing(_generator(call(await self._context()))) as responses:
            async for response in responses:
                yield response

    def _may_sign_again(self, error: Exception, used: httpx.Auth | None) -> bool:
        """Over HTTP the scheme has seen the 401 itself; over gRPC nobody has."""
        if self._auth is None or used is None or not self._over_grpc:
            return False
        return read_fault(error).status == 401 and self._auth.renew(used)

    async def _context(self) -> ClientCallContext | None:
        """Credentials for calls that do not go through the HTTP client."""
        if self._auth is None or not self._over_grpc:
            return None
        headers = await self._auth.headers(self._url)
        return ClientCallContext(service_parameters=headers)

    @property
    def _url(self) -> str:
        assert self._card is not None
        return choose_interface(self._card).url

    @property
    def _over_grpc(self) -> bool:
        assert self._card is not None
        return choose_interface(self._card).protocol_binding == TransportProtocol.GRPC

    async def aclose(self) -> None:
        """Close the connections."""
        draining = list(self._draining)
        for task in draining:
            task.cancel()
        if draining:
            await asyncio.wait(draining)
        for client in (self._streaming, self._asking):
            if client is not None:
                await client.close()
        await self._http.aclose()
        self._card = None
        # The SDK leaves streams that were not read to their end to the loop's finalizer,
        # which closes them from the outside in, one turn of the loop after the other.
        for _ in range(FINALIZER_TURNS):
            await asyncio.sleep(0)


def _trust(authorities: str | None) -> ssl.SSLContext:
    """Who may vouch for the agent; where nobody is named, those of the environment."""
    if authorities is None:
        return httpx.create_ssl_context()
    return ssl.create_default_context(cadata=authorities)


def _generator(stream: AsyncIterator[StreamResponse]) -> AsyncGenerator[StreamResponse]:
    """The SDK declares iterators and gives generators, which must be closed."""
    return cast("AsyncGenerator[StreamResponse]", stream)


async def _drained(stream: AsyncGenerator[StreamResponse]) -> None:
    async with aclosing(stream):
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in stream:
                    pass
        except Exception:  # noqa: BLE001 - what is not the message's outcome does not matter
            return
