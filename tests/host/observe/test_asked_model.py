"""What a model group says of the model before it is asked, through the host's own clients."""

from __future__ import annotations

from typing import Any

import pytest
from rasa.shared.utils.llm import llm_factory

from rasa_react_ext.host.observe.asked_model import UNKNOWN, AskedModel, asked_model
from tests.host.project import hosts_own_warnings

KEY = {"api_key": "none"}
OPENAI = {"provider": "openai", "model": "gpt", **KEY}
CLAUDE = {"provider": "anthropic", "model": "claude", **KEY}
AZURE = {
    "provider": "azure",
    "deployment": "desk",
    "api_base": "http://127.0.0.1",
    "api_version": "1",
    **KEY,
}


def _client(config: dict[str, Any]) -> Any:
    with hosts_own_warnings():
        return llm_factory(config, {})


def _group(*models: dict[str, str]) -> dict[str, Any]:
    return {"id": "desks", "models": list(models), "router": {"routing_strategy": "simple-shuffle"}}


@pytest.mark.parametrize(
    ("config", "name", "provider"),
    [
        (OPENAI, "gpt", "openai"),
        ({**OPENAI, "model": "openai/gpt"}, "gpt", "openai"),
        (CLAUDE, "claude", "anthropic"),
        (AZURE, "desk", "azure.ai.openai"),
        (_group(OPENAI, OPENAI), "gpt", "openai"),
        (_group(OPENAI, CLAUDE), "desks", "litellm"),
    ],
)
def test_model_and_provider_are_those_of_the_group(
    config: dict[str, Any], name: str, provider: str
) -> None:
    assert asked_model(_client(config)) == AskedModel(name=name, provider=provider)


def test_a_model_named_by_a_variable_is_shown_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_MODEL", "gpt")
    assert asked_model(_client({**OPENAI, "model": "${DESK_MODEL}"})).name == "gpt"


def test_a_client_that_says_nothing_is_unknown() -> None:
    assert asked_model(object()) == UNKNOWN
    assert UNKNOWN.attributes == {}
