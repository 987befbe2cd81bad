"""Decides whether our own HTTP client may speak to a model group, and how.

The host's client object holds the resolved settings. A setting that is not in
the lists below, or a feature of litellm that is switched on, means that litellm
must make the request.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import litellm
from litellm.main import responses_api_bridge_check
from litellm.types.utils import LlmProviders
from litellm.utils import ProviderConfigManager
from rasa.shared.providers.llm.azure_openai_llm_client import AzureOpenAILLMClient
from rasa.shared.providers.llm.openai_llm_client import OpenAILLMClient
from rasa.shared.providers.llm.self_hosted_llm_client import SelfHostedLLMClient

from rasa_react_ext.host.chat.proxy import Proxy, find_proxy

__all__ = ["DEFAULT_TIMEOUT_SECONDS", "Endpoint", "find_endpoint", "timeout_seconds"]

DEFAULT_TIMEOUT_SECONDS = 300.0
"""The host's limit for a model group that sets no timeout."""

_PROVIDERS: Mapping[type, str] = {
    OpenAILLMClient: "openai",
    AzureOpenAILLMClient: "azure",
    SelfHostedLLMClient: "hosted_vllm",
}
_SETTINGS = frozenset(
    {
        "allowed_openai_params",
        "api_base",
        "api_key",
        "api_version",
        "azure_ad_token",
        "default_headers",
        "drop_params",
        "extra_body",
        "extra_headers",
        "max_retries",
        "metadata",
        "model",
        "num_retries",
        "organization",
        "timeout",
    }
)
"""Keys that say how to reach the model; they are not sent."""

_PARAMETERS = frozenset(
    {
        "chat_template_kwargs",
        "frequency_penalty",
        "include_reasoning",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "min_p",
        "modalities",
        "parallel_tool_calls",
        "prediction",
        "presence_penalty",
        "prompt_cache_key",
        "prompt_cache_retention",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "safety_identifier",
        "seed",
        "service_tier",
        "stop",
        "store",
        "temperature",
        "tool_choice",
        "top_k",
        "top_logprobs",
        "top_p",
        "user",
        "verbosity",
    }
)
"""Keys that are sent to the model as they are."""

_LITELLM_FEATURES = ("cache", "headers", "model_alias_map", "post_call_rules", "pre_call_rules")
_LITELLM_CALLBACKS = (
    "_async_failure_callback",
    "_async_input_callback",
    "_async_success_callback",
    "callbacks",
    "failure_callback",
    "input_callback",
    "success_callback",
)
_PLAIN_FAMILIES = frozenset(
    {
        "AzureOpenAIConfig",
        "AzureOpenAIGPT5Config",
        "HostedVLLMChatConfig",
        "OpenAIGPT5Config",
        "OpenAIGPTConfig",
        "OpenAIUnknownModelConfig",
    }
)
"""Model families that litellm, too, sends to the chat endpoint without rewriting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how to post a chat completion.

    Attributes:
        url: Whole address, query included.
        headers: Headers with the credentials.
        secret: The credential itself, kept out of messages.
        body: Model name and parameters, without the conversation.
        timeout_seconds: Time for an answer, or for each next piece of a stream.
        retries: Further attempts after a failure that may pass.
        proxy: The environment's proxy for the address, if there is one.
    """

    url: str
    headers: Mapping[str, str]
    secret: str
    body: Mapping[str, Any]
    timeout_seconds: float
    retries: int
    proxy: Proxy | None = None


def find_endpoint(client: object, arguments: Mapping[str, Any], *, tools: bool) -> Endpoint | None:
    """The endpoint of a plain group, or None when litellm must make the request.

    Args:
        client: The host's client object.
        arguments: Its completion arguments, environment resolved.
        tools: Whether tools will be offered.
    """
    provider = _PROVIDERS.get(type(client))
    given = {key: value for key, value in arguments.items() if value is not None}
    if provider is None or not _readable(given) or _litellm_in_use():
        return None
    model = str(given["model"]).partition("/")[2]
    try:
        plain = _plain_chat(
            provider, model, given.get("api_base"), given.get("reasoning_effort"), tools
        )
        address = _azure(model, given) if provider == "azure" else _openai(provider, given)
        proxy = find_proxy(address[0]) if address else None
    except ValueError:  # no address at all; litellm says so in its words
        return None
    if not plain or address is None or (proxy and not proxy.address.startswith("http")):
        return None
    url, headers, secret = address
    extra = {**given.get("default_headers", {}), **given.get("extra_headers", {})}
    body = {key: value for key, value in given.items() if key in _PARAMETERS}
    return Endpoint(
        url=url,
        headers={**headers, **{key: str(value) for key, value in extra.items()}},
        secret=secret,
        body={"model": model, **body, **given.get("extra_body", {})},
        timeout_seconds=timeout_seconds(given),
        retries=int(given.get("num_retries") or given.get("max_retries") or 0),
        proxy=proxy,
    )


def timeout_seconds(arguments: Mapping[str, Any]) -> float:
    """The time limit a model group sets, in seconds."""
    try:
        return float(arguments.get("timeout") or DEFAULT_TIMEOUT_SECONDS)
    except (TypeError, ValueError):
        return DEFAULT_TIMEOUT_SECONDS


def _readable(given: Mapping[str, Any]) -> bool:
    mappings = ("default_headers", "extra_body", "extra_headers", "response_format")
    numbers = ("max_retries", "num_retries", "timeout")
    return (
        given.keys() <= _SETTINGS | _PARAMETERS
        and not given.get("drop_params")
        and all(isinstance(given.get(key, {}), Mapping) for key in mappings)
        and all(str(given.get(key, 0)).replace(".", "", 1).isdigit() for key in numbers)
        and isinstance(given.get("reasoning_effort", ""), str)
    )


def _litellm_in_use() -> bool:
    """Whether anything was set up in litellm that only its own requests serve.

    Callbacks are how the host sends model calls to Langfuse. Those that a router
    group registers for itself concern its own requests alone.
    """
    if os.environ.get("OPENAI_CUSTOM_HEADERS") or any(
        getattr(litellm, feature, None) for feature in _LITELLM_FEATURES
    ):
        return True
    return any(
        not _of_router(callback)
        for name in _LITELLM_CALLBACKS
        for callback in getattr(litellm, name)
    )


def _of_router(callback: object) -> bool:
    owner = getattr(callback, "__self__", callback)
    return getattr(owner, "__module__", "").startswith("litellm.router")


@lru_cache(maxsize=256)
def _plain_chat(
    provider: str, model: str, base: str | None, effort: str | None, tools: bool
) -> bool:
    """Whether litellm, too, would post this to the chat endpoint as it is."""
    family = ProviderConfigManager.get_provider_chat_config(model, LlmProviders(provider))
    if type(family).__name__ not in _PLAIN_FAMILIES:
        return False
    bridge, _ = responses_api_bridge_check(
        model=model,
        custom_llm_provider=provider,
        tools=[{"type": "function"}] if tools else None,
        reasoning_effort=effort,
        api_base=base,
    )
    return bridge.get("mode") != "responses"


def _openai(provider: str, given: Mapping[str, Any]) -> tuple[str, dict[str, str], str] | None:
    if provider == "hosted_vllm":
        base = given.get("api_base")
        key = given.get("api_key") or os.environ.get("HOSTED_VLLM_API_KEY")
        organization = given.get("organization")
    else:
        base = (
            given.get("api_base")
            or litellm.api_base
            or _environment("OPENAI_BASE_URL", "OPENAI_API_BASE")
            or "https://api.openai.com/v1"
        )
        key = (
            given.get("api_key")
            or litellm.api_key
            or litellm.openai_key
            or _environment("OPENAI_API_KEY")
        )
        organization = (
            given.get("organization")
            or litellm.organization
            or _environment("OPENAI_ORGANIZATION", "OPENAI_ORG_ID")
        )
    if not base or not key:
        return None
    headers = {"Authorization": f"Bearer {key}"}
    if organization:
        headers["OpenAI-Organization"] = str(organization)
    if provider == "openai" and (project := _environment("OPENAI_PROJECT_ID")):
        headers["OpenAI-Project"] = project
    return _with_path(str(base), "/chat/completions"), headers, str(key)


def _azure(deployment: str, given: Mapping[str, Any]) -> tuple[str, dict[str, str], str] | None:
    """The address of an Azure deployment; None for gateways and the v1 path."""
    base = str(given.get("api_base") or "")
    version = str(given.get("api_version") or "")
    token, key = given.get("azure_ad_token"), given.get("api_key")
    special = "/" in deployment or "/openai" in base or "gateway.ai.cloudflare.com" in base
    if special or not base or not version[:1].isdigit() or not (key or token):
        return None
    url = _with_path(base, f"/openai/deployments/{deployment}/chat/completions")
    url += ("&" if "?" in url else "?") + f"api-version={version}"
    if token:
        if str(token).startswith("oidc/"):
            return None
        return url, {"Authorization": f"Bearer {token}"}, str(token)
    return url, {"api-key": str(key)}, str(key)


def _with_path(base: str, path: str) -> str:
    """The base with the path behind it, unless it is there already; the query stays."""
    parts = urlsplit(base)
    stem = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=stem if stem.endswith(path) else stem + path))


def _environment(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "")
