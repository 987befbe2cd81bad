"""Our own client speaks only to groups that litellm would send the same request for."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import encode_basic_auth
from rasa.shared.utils.io import resolve_environment_variables
from rasa.shared.utils.llm import llm_factory

from rasa_react_ext.host.chat.endpoint import Endpoint, find_endpoint
from rasa_react_ext.host.chat.proxy import Proxy
from tests.host.chat.conftest import DEFAULT

pytestmark = pytest.mark.host

OPENAI = {"provider": "openai", "model": "gpt-4o"}
HOSTED = {"provider": "self-hosted", "model": "org/m", "api_base": "http://127.0.0.1:9/v1"}
AZURE = {
    "provider": "azure",
    "deployment": "chat",
    "api_base": "https://name.openai.azure.com/",
    "api_version": "2024-10-21",
    "api_key": "key-of-azure",
}
KEY = "sk-dummy-key-of-the-environment"


def found(model: dict[str, Any], *, tools: bool = True) -> Endpoint | None:
    client = llm_factory({"id": "sales", "models": [model]}, DEFAULT)
    arguments = resolve_environment_variables(client._completion_fn_args)
    return find_endpoint(client, arguments, tools=tools)


@pytest.mark.parametrize(
    ("model", "url"),
    [
        (OPENAI, "https://api.openai.com/v1/chat/completions"),
        (OPENAI | {"api_base": "http://p:1/v1/"}, "http://p:1/v1/chat/completions"),
        (OPENAI | {"api_base": "http://p:1/v1?k=v"}, "http://p:1/v1/chat/completions?k=v"),
        (HOSTED, "http://127.0.0.1:9/v1/chat/completions"),
        (
            AZURE,
            "https://name.openai.azure.com/openai/deployments/chat/chat/completions"
            "?api-version=2024-10-21",
        ),
    ],
)
def test_addresses(model: dict[str, Any], url: str) -> None:
    endpoint = found(model)
    assert endpoint is not None
    assert endpoint.url == url


def test_model_names_keep_their_slashes() -> None:
    endpoint = found(HOSTED)
    assert endpoint is not None
    assert endpoint.body == {"model": "org/m"}


def test_organization_and_project_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORGANIZATION", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    endpoint = found(OPENAI)
    assert endpoint is not None
    assert endpoint.headers == {
        "Authorization": f"Bearer {KEY}",
        "OpenAI-Organization": "org-1",
        "OpenAI-Project": "proj-1",
    }
    hosted = found(HOSTED)
    assert hosted is not None
    assert hosted.headers.keys() == {"Authorization"}


def test_limits_are_read_as_the_host_reads_them() -> None:
    for model, seconds, retries in (
        (OPENAI, 7.0, 0),
        (HOSTED, 300.0, 0),
        (HOSTED | {"timeout": "2.5", "num_retries": 3}, 2.5, 3),
    ):
        endpoint = found(model)
        assert endpoint is not None
        assert (endpoint.timeout_seconds, endpoint.retries) == (seconds, retries)


@pytest.mark.parametrize(
    "model",
    [
        {"provider": "anthropic", "model": "claude", "api_key": "k"},
        OPENAI | {"model": "o3"},
        OPENAI | {"model": "gpt-5.1-codex"},
        OPENAI | {"model": "gpt-5.4", "reasoning_effort": "low"},
        OPENAI | {"reasoning_effort": {"effort": "low"}},
        OPENAI | {"drop_params": True},
        OPENAI | {"some_new_key": 1},
        OPENAI | {"api_base": "http://[::1/v1"},
        HOSTED | {"timeout": "soon"},
        HOSTED | {"extra_headers": "X-Team: sales"},
        HOSTED | {"thinking": {"type": "enabled"}},
        AZURE | {"api_version": "preview"},
        AZURE | {"deployment": "o_series/chat"},
        AZURE | {"api_base": "https://gateway.ai.cloudflare.com/v1"},
        AZURE | {"api_base": "https://name.openai.azure.com/openai/v1"},
    ],
)
def test_what_litellm_would_rewrite_is_left_to_litellm(model: dict[str, Any]) -> None:
    assert found(model) is None


def test_new_models_stay_with_us_where_litellm_would_not_change_the_endpoint() -> None:
    newest = OPENAI | {"model": "gpt-5.4"}
    assert found(newest | {"reasoning_effort": "low"}, tools=False) is not None
    assert found(newest | {"reasoning_effort": "none"}) is not None


@pytest.mark.parametrize(
    ("name", "value"), [("cache", object()), ("headers", {"X": "1"}), ("callbacks", ["langfuse"])]
)
def test_a_feature_of_litellm_needs_litellm(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    monkeypatch.setattr(f"litellm.{name}", value)
    assert found(OPENAI) is None


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://m.invalid/v1", Proxy(address="http://plain:1")),
        (
            "https://m.invalid/v1",
            Proxy(
                address="http://secure:2",
                tunnel_headers={"Proxy-Authorization": encode_basic_auth("me", "p@ss")},
            ),
        ),
        ("https://near.invalid/v1", None),
    ],
)
def test_the_environments_proxy_is_found(
    monkeypatch: pytest.MonkeyPatch, url: str, proxy: Proxy | None
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://plain:1")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:p%40ss@secure:2")
    monkeypatch.setenv("NO_PROXY", "near.invalid")
    endpoint = found(HOSTED | {"api_base": url})
    assert endpoint is not None
    assert endpoint.proxy == proxy


def test_a_socks_proxy_needs_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    assert found(OPENAI) is None


def test_a_token_of_azure_is_sent_as_one() -> None:
    client = llm_factory({"id": "sales", "models": [AZURE]}, DEFAULT)
    arguments = {**client._completion_fn_args, "api_key": None, "azure_ad_token": "token"}
    endpoint = find_endpoint(client, arguments, tools=True)
    assert endpoint is not None
    assert endpoint.headers == {"Authorization": "Bearer token"}
    arguments["azure_ad_token"] = "oidc/token"
    assert find_endpoint(client, arguments, tools=True) is None
