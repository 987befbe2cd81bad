"""The engine's chat model on top of the host's resolved client.

Chooses the way to the provider, asks once, and falls back when a provider does
not stream. Retrying a failed call is the run's business.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from enum import IntEnum
from typing import Any, cast

import litellm
from rasa.shared.providers.llm.litellm_router_llm_client import LiteLLMRouterLLMClient
from rasa.shared.providers.llm.llm_response import LLMUsage
from rasa.shared.utils.io import resolve_environment_variables
from rasa.tracing.engine_token_usage import record_engine_token_usage

from rasa_react_ext.engine.message import ModelAnswer, ModelRequest
from rasa_react_ext.engine.port import TextSink
from rasa_react_ext.errors import ConfigurationError, HostError, ModelError
from rasa_react_ext.host.chat import pool
from rasa_react_ext.host.chat.answer import read_answer
from rasa_react_ext.host.chat.endpoint import find_endpoint
from rasa_react_ext.host.chat.fault import time_limit
from rasa_react_ext.host.chat.http import HttpWire
from rasa_react_ext.host.chat.length import length_limit
from rasa_react_ext.host.chat.litellm_wire import LitellmWire, litellm_fault
from rasa_react_ext.host.chat.stream import Assembly
from rasa_react_ext.host.chat.wire import Wire

__all__ = ["HostChatModel", "chat_model"]


class _Mode(IntEnum):
    """How an answer is asked for, best last; a provider's refusal leads one down."""

    WHOLE = 0
    STREAM = 1
    STREAM_WITH_USAGE = 2


def chat_model(llm_client: Any, *, name: str) -> HostChatModel:
    """The chat model behind a client of the host.

    Args:
        llm_client: What the host's `llm_factory` made of a model configuration.
        name: Name of the model group, for errors.

    Raises:
        ConfigurationError: The group uses the text completions endpoint.
        HostError: The object is no model client of the supported host.
    """
    if not hasattr(type(llm_client), "_completion_fn_args"):  # reading it may fetch a token
        raise HostError(
            f"{type(llm_client).__name__!r} is no model client of the supported host version. "
            "Pass what llm_factory returns."
        )
    place = "router" if isinstance(llm_client, LiteLLMRouterLLMClient) else "models"
    if getattr(llm_client, "_use_chat_completions_endpoint", True) is False:
        raise ConfigurationError(
            file="endpoints.yml",
            key=f"model_groups.{name}.{place}.use_chat_completions_endpoint",
            problem="A text completions endpoint cannot offer tools to the model.",
            fix="Remove the key or set it to true, or use another model group for the agent.",
        )
    return HostChatModel(llm_client, name=name)


class HostChatModel:
    """A `ChatModel` that lets the host resolve settings and reads the answer raw."""

    def __init__(self, llm_client: Any, *, name: str) -> None:
        self._client = llm_client
        self._name = name
        self._mode = _Mode.STREAM_WITH_USAGE

    async def ask(self, request: ModelRequest, sink: TextSink | None = None) -> ModelAnswer:
        """Ask once; see `ChatModel`.

        Raises:
            ModelError: The provider failed, or `request.timeout_seconds` are over.
        """
        started = time.perf_counter()
        shown = _Shown(sink, started)
        async with time_limit(self._name, request.timeout_seconds):
            arguments = await self._arguments()
            wire = await self._wire(arguments, tools=bool(request.tools))
            limits = length_limit(arguments, request.max_tokens)
            answer = await self._descend(wire, request, shown, limits)
        self._record(answer, request.metadata)
        return replace(
            answer,
            first_token_ms=shown.first_ms,
            total_ms=(time.perf_counter() - started) * 1000,
        )

    async def aclose(self) -> None:
        """Give up this model's share of the event loop's connections, when no ask runs."""
        await pool.leave(self)

    async def _wire(self, arguments: dict[str, Any], *, tools: bool) -> Wire:
        if isinstance(self._client, LiteLLMRouterLLMClient):
            router = await self._off_loop(lambda: self._client.router_client)
            return LitellmWire(
                peer=self._name,
                complete=router.acompletion,
                arguments=arguments,
                secrets=_router_secrets(self._client.model_configurations),
            )
        if endpoint := find_endpoint(self._client, arguments, tools=tools):
            return HttpWire(peer=self._name, endpoint=endpoint, pool=await self._pool())
        return LitellmWire(
            peer=self._name,
            complete=litellm.acompletion,
            arguments=arguments,
            secrets=_secrets(arguments),
        )

    async def _pool(self) -> pool.Pool:
        try:
            return await pool.join(self)
        except OSError as error:
            raise ModelError(
                self._name,
                f"The certificates for model {self._name!r} cannot be read: {error}. "
                "Check RASA_CA_BUNDLE, SSL_VERIFY and RASA_SSL_CERTIFICATE.",
                kind="refused_request",
            ) from error

    async def _arguments(self) -> dict[str, Any]:
        """The group's completion arguments, environment resolved at this moment."""
        arguments = await self._off_loop(lambda: self._client._completion_fn_args)
        return cast("dict[str, Any]", resolve_environment_variables(arguments))

    async def _off_loop(self, read: Callable[[], Any]) -> Any:
        """Read from the host's client; with OAuth it fetches a token and would block."""
        models = getattr(self._client, "model_configurations", ())
        oauth = getattr(self._client, "_oauth", None) or any(
            model.get("litellm_params", {}).get("oauth") for model in models
        )
        try:
            return await asyncio.to_thread(read) if oauth else read()
        except Exception as error:  # an identity provider's library raises its own
            raise litellm_fault(self._name, error) from error

    async def _descend(
        self, wire: Wire, request: ModelRequest, shown: _Shown, limits: Mapping[str, Any]
    ) -> ModelAnswer:
        """Ask in the best mode the provider is known to take, and in a lesser one if refused."""
        mode = self._mode if shown.sink else _Mode.WHOLE
        while True:
            try:
                parameters = {**_parameters(request, mode), **limits}
                answer, used = await self._once(wire, parameters, request.metadata, shown, mode)
            except ModelError as error:
                lesser = _lesser(mode, error)
                if lesser is None or shown.first_ms is not None:
                    raise
                mode = lesser
                continue
            if shown.sink:
                self._mode = min(self._mode, used)
            return answer

    async def _once(
        self,
        wire: Wire,
        parameters: Mapping[str, Any],
        metadata: Mapping[str, Any],
        shown: _Shown,
        mode: _Mode,
    ) -> tuple[ModelAnswer, _Mode]:
        async with wire.send(parameters, metadata) as reply:
            if reply.chunks is not None:
                return await _assembled(reply.chunks, shown), mode
            answer = read_answer(self._name, reply.body)
        await shown.show(answer.text)
        return answer, _Mode.WHOLE

    def _record(self, answer: ModelAnswer, metadata: Mapping[str, Any]) -> None:
        """Tell the host what its own client would have told it."""
        if answer.usage:
            record_engine_token_usage(
                LLMUsage(answer.usage.prompt, answer.usage.completion),
                model=answer.model,
                litellm_kwargs={"metadata": dict(metadata)},
            )
        if answer.model and getattr(self._client, "_is_deployment_only", False):
            self._client._on_model_resolved(answer.model)


class _Shown:
    """What the sink has received."""

    def __init__(self, sink: TextSink | None, started: float) -> None:
        self.sink = sink
        self.first_ms: float | None = None
        self._started = started

    async def show(self, text: str) -> None:
        if self.sink is None or not text:
            return
        if self.first_ms is None:
            self.first_ms = (time.perf_counter() - self._started) * 1000
        await self.sink(text)


async def _assembled(chunks: AsyncGenerator[Mapping[str, Any]], shown: _Shown) -> ModelAnswer:
    assembly = Assembly()
    async with aclosing(chunks):
        async for chunk in chunks:
            await shown.show(assembly.feed(chunk))
    await shown.show(assembly.finish())
    return assembly.answer()


def _parameters(request: ModelRequest, mode: _Mode) -> dict[str, Any]:
    parameters: dict[str, Any] = {"messages": list(request.messages)}
    if request.tools:
        parameters["tools"] = list(request.tools)
        if not request.allow_tools:
            parameters["tool_choice"] = "none"
    if mode is not _Mode.WHOLE:
        parameters["stream"] = True
    if mode is _Mode.STREAM_WITH_USAGE:
        parameters["stream_options"] = {"include_usage": True}
    return parameters


def _lesser(mode: _Mode, error: ModelError) -> _Mode | None:
    """The mode to try after a refusal that blames streaming; None when it does not."""
    said = str(error).lower()
    if mode is _Mode.WHOLE or error.kind != "refused_request" or "stream" not in said:
        return None
    usage = mode is _Mode.STREAM_WITH_USAGE and ("stream_options" in said or "usage" in said)
    return _Mode.STREAM if usage else _Mode.WHOLE


def _secrets(arguments: Mapping[str, Any]) -> list[str]:
    return [str(arguments[key]) for key in ("api_key", "azure_ad_token") if arguments.get(key)]


def _router_secrets(models: Iterable[Mapping[str, Any]]) -> list[str]:
    found = cast("list[dict[str, Any]]", resolve_environment_variables(list(models)))
    return [secret for model in found for secret in _secrets(model.get("litellm_params", {}))]
