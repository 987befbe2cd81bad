"""A small client for OpenAI-compatible chat endpoints.

It writes the conversation once, reads the answer raw and keeps nothing between
requests but the connections of the event loop's pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import aiohttp

from rasa_react_ext import __version__
from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.answer import first_choice
from rasa_react_ext.host.chat.endpoint import Endpoint
from rasa_react_ext.host.chat.fault import (
    answered_fault,
    embedded_fault,
    provider_message,
    time_limit,
    transport_fault,
)
from rasa_react_ext.host.chat.pool import Pool
from rasa_react_ext.host.chat.sse import event_data
from rasa_react_ext.host.chat.wire import Reply, without_idle_tool_settings

__all__ = ["HttpWire"]

_TRANSPORT_ERRORS = (aiohttp.ClientError, OSError, ValueError)
_USER_AGENT = f"rasa-react-ext/{__version__}"
_EVENT_STARTS = (b":", b"data:", b"event:", b"id:", b"retry:")
_PREFIX = len(b"retry:")
_LONGEST_PAUSE_SECONDS = 8.0
_DRAIN_SECONDS = 0.1


class HttpWire:
    """Posts chat completions to one endpoint through the pool of the running loop."""

    def __init__(self, *, peer: str, endpoint: Endpoint, pool: Pool) -> None:
        self._peer = peer
        self._endpoint = endpoint
        self._pool = pool

    @asynccontextmanager
    async def send(
        self, parameters: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> AsyncGenerator[Reply]:
        """Send one request; see `Wire`."""
        del metadata  # whoever traces has registered with litellm, which then sends
        body = self._body(parameters)
        streamed = bool(parameters.get("stream"))
        async with (
            self._pool.place(self._endpoint.url, self._endpoint.secret),
            AsyncExitStack() as opened,
        ):
            yield await self._insist(body, opened, streamed=streamed)

    def _body(self, parameters: Mapping[str, Any]) -> bytes:
        body = without_idle_tool_settings({**self._endpoint.body, **parameters})
        try:
            return json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            raise ModelError(
                self._peer,
                f"The conversation for model {self._peer!r} is no JSON: {error}. "
                "Check what hooks put into the messages and tools.",
                kind="refused_request",
            ) from error

    async def _insist(self, body: bytes, opened: AsyncExitStack, *, streamed: bool) -> Reply:
        """Try as often as the model group asks for."""
        for attempt in range(self._endpoint.retries):
            try:
                return await self._attempt(body, opened, streamed=streamed)
            except ModelError as error:
                pause = error.retry_after_seconds or 0.5 * 2**attempt
                if not error.retryable or pause > _LONGEST_PAUSE_SECONDS:
                    raise
            await asyncio.sleep(pause)
        return await self._attempt(body, opened, streamed=streamed)

    async def _attempt(self, body: bytes, opened: AsyncExitStack, *, streamed: bool) -> Reply:
        first = b""
        async with self._limit():
            response = await self._post(body)
            opened.callback(response.release)  # closes what was not read to its end
            if response.status >= 300:
                raise await self._refusal(response)
            if not streamed:
                return Reply(body=self._decoded(await response.content.read()))
        while len(first) < _PREFIX and (block := await self._block(response)):
            first = (first + block).lstrip()
        if first.startswith(_EVENT_STARTS):
            return Reply(chunks=self._chunks(response, first))
        async with self._limit():
            return Reply(body=self._decoded(first + await response.content.read()))

    @asynccontextmanager
    async def _limit(self) -> AsyncGenerator[None]:
        """The group's time limit; what goes wrong on the way becomes a `ModelError`."""
        async with time_limit(self._peer, self._endpoint.timeout_seconds):
            try:
                yield
            except _TRANSPORT_ERRORS as error:
                raise transport_fault(
                    self._peer, error, secrets=(self._endpoint.secret,)
                ) from error

    async def _block(self, response: aiohttp.ClientResponse) -> bytes:
        """The next piece of a stream; empty at its end."""
        async with self._limit():
            return await response.content.readany()

    async def _post(self, body: bytes) -> aiohttp.ClientResponse:
        try:
            return await self._post_once(body)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            # A kept connection may have been closed under us: once more on a fresh one.
            return await self._post_once(body)

    async def _post_once(self, body: bytes) -> aiohttp.ClientResponse:
        proxy = self._endpoint.proxy
        return await self._pool.session.post(
            self._endpoint.url,
            data=body,
            headers={
                "Content-Type": "application/json",
                "User-Agent": _USER_AGENT,
                **self._endpoint.headers,
                **(proxy.request_headers if proxy else {}),
            },
            allow_redirects=False,  # a redirect would carry the key elsewhere
            proxy=proxy.address if proxy else None,
            proxy_headers=proxy.tunnel_headers if proxy else None,
        )

    async def _refusal(self, response: aiohttp.ClientResponse) -> ModelError:
        text = await response.text(errors="replace")
        if response.status < 400:
            text = f"it redirects to {response.headers.get('Location', 'nowhere')}"
        return answered_fault(
            self._peer,
            response.status,
            text,
            headers=response.headers,
            secrets=(self._endpoint.secret,),
        )

    async def _chunks(
        self, response: aiohttp.ClientResponse, first: bytes
    ) -> AsyncGenerator[Mapping[str, Any]]:
        finished = False
        async with aclosing(event_data(self._blocks(response, first))) as events:
            async for data in events:
                if data.strip() == "[DONE]":
                    await self._drain(response)
                    return
                chunk = self._decoded(data)
                finished = finished or first_choice(chunk).get("finish_reason") is not None
                yield chunk
        if not finished:
            raise transport_fault(self._peer, ConnectionError("the answer broke off"))

    async def _blocks(
        self, response: aiohttp.ClientResponse, block: bytes
    ) -> AsyncGenerator[bytes]:
        while block:
            yield block
            block = await self._block(response)

    async def _drain(self, response: aiohttp.ClientResponse) -> None:
        """Read the end of the body, which follows at once, so that the connection is kept."""
        with contextlib.suppress(TimeoutError, *_TRANSPORT_ERRORS):
            async with asyncio.timeout(_DRAIN_SECONDS):
                await response.content.read()

    def _decoded(self, data: bytes | str) -> Any:
        text = data if isinstance(data, str) else data.decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except ValueError as error:
            said = provider_message(text, (self._endpoint.secret,))
            raise ModelError(
                self._peer,
                f"Model {self._peer!r} sent no valid JSON: {said!r} Check its api_base.",
                kind="bad_answer",
            ) from error
        if isinstance(body, dict) and body.get("error"):
            raise embedded_fault(self._peer, text, secrets=(self._endpoint.secret,))
        return body
