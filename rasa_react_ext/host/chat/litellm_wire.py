"""Makes model requests through litellm: router groups, and whatever our own client cannot."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import httpx
import openai
from litellm.exceptions import APIResponseValidationError, Timeout

from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.endpoint import timeout_seconds
from rasa_react_ext.host.chat.fault import (
    answered_fault,
    provider_message,
    time_limit,
    transport_fault,
)
from rasa_react_ext.host.chat.wire import Reply, without_idle_tool_settings

__all__ = ["Completion", "LitellmWire", "litellm_fault"]

Completion = Callable[..., Awaitable[Any]]
"""`litellm.acompletion`, or the same method of a router."""

_SDK_PROVIDERS = ("openai/", "azure/", "hosted_vllm/")
"""Providers whose SDK retries on its own unless it is told not to."""

_LONGEST_CHAIN = 30
_NOISE = re.compile(r"Traceback \(most recent call last\)|\.? Received Model Group=")
_ODD_ANSWER = "Invalid response object"


class LitellmWire:
    """Sends requests through one completion function with a group's own arguments."""

    def __init__(
        self,
        *,
        peer: str,
        complete: Completion,
        arguments: Mapping[str, Any],
        secrets: Iterable[str],
    ) -> None:
        self._peer = peer
        self._complete = complete
        self._arguments = dict(arguments)
        self._secrets = tuple(secrets)
        if str(arguments.get("model", "")).startswith(_SDK_PROVIDERS):
            self._arguments.setdefault("max_retries", 0)

    @asynccontextmanager
    async def send(
        self, parameters: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> AsyncGenerator[Reply]:
        """Send one request; see `Wire`."""
        # litellm edits messages and tool schemas in place.
        arguments = without_idle_tool_settings(
            {**self._arguments, **copy.deepcopy(dict(parameters))}
        )
        if metadata:
            arguments["metadata"] = dict(metadata)
        response = await self._awaited(self._complete(**arguments))
        if not hasattr(response, "__aiter__"):
            yield Reply(body=response.model_dump())
            return
        async with aclosing(response):
            yield Reply(chunks=self._chunks(response))

    async def _chunks(self, response: Any) -> AsyncGenerator[Mapping[str, Any]]:
        chunks = aiter(response)
        while (chunk := await self._awaited(anext(chunks, None))) is not None:
            yield chunk.model_dump(exclude_none=True)

    async def _awaited(self, answer: Awaitable[Any]) -> Any:
        """Await within the group's time limit; litellm's errors become ours."""
        try:
            async with time_limit(self._peer, timeout_seconds(self._arguments)):
                return await answer
        except ModelError:
            raise
        except Exception as error:  # litellm raises its own, the SDKs' and plain errors
            raise litellm_fault(self._peer, error, secrets=self._secrets) from error


def litellm_fault(peer: str, error: Exception, *, secrets: Iterable[str] = ()) -> ModelError:
    """The error for whatever litellm or one of its clients raised."""
    chain = _chain(error)
    text = _NOISE.split(str(error))[0]
    if any(isinstance(each, (Timeout, httpx.TimeoutException, TimeoutError)) for each in chain):
        return transport_fault(peer, TimeoutError("the request timed out."), secrets=secrets)
    unreadable = any(isinstance(each, json.JSONDecodeError) for each in chain)
    if unreadable or isinstance(error, APIResponseValidationError) or _ODD_ANSWER in text:
        said = provider_message(text, secrets)
        return ModelError(
            peer,
            f"Model {peer!r} sent no valid answer: {said} Check its api_base.",
            kind="bad_answer",
        )
    if isinstance(error, (httpx.HTTPError, aiohttp.ClientError, OSError)):
        return transport_fault(peer, error, secrets=secrets)
    cooldown = getattr(error, "cooldown_time", None)
    if cooldown is not None:  # every deployment of a router group rests
        headers = {"retry-after": str(cooldown)}
        return answered_fault(peer, 429, text, headers=headers, secrets=secrets)
    status = getattr(error, "status_code", 500 if isinstance(error, openai.OpenAIError) else None)
    if not isinstance(status, int):
        said = provider_message(text, secrets)
        return ModelError(
            peer,
            f"Model {peer!r} could not be asked: {said} Check the settings of the model group.",
            kind="refused_request",
        )
    clues = " ".join(str(getattr(each, "body", "")) for each in chain)
    return answered_fault(peer, status, text, headers=_headers(error), secrets=secrets, clues=clues)


def _chain(error: BaseException) -> list[BaseException]:
    """An error and all behind it: litellm wraps, and drops the provider's code."""
    chain: list[BaseException] = [error]
    for each in chain:
        behind = (getattr(each, "original_exception", None), each.__cause__, each.__context__)
        chain += [other for other in behind if other is not None and other not in chain]
        del chain[_LONGEST_CHAIN:]
    return chain


def _headers(error: Exception) -> dict[str, str]:
    headers = getattr(error, "litellm_response_headers", None)
    if headers is None:
        headers = getattr(getattr(error, "response", None), "headers", None)
    return {str(key): str(value) for key, value in dict(headers or {}).items()}
