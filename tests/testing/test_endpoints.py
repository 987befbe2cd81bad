from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.endpoints import offline_endpoints

WRITTEN = """
model_groups:
  - id: commands
    models:
      - {provider: azure, deployment: gpt-dep, api_base: "https://a", api_version: x, timeout: 7}
      - {provider: bedrock, model: claude, aws_region_name: eu, temperature: 0.2}
    router: {routing_strategy: simple-shuffle}
  - odd
mcp_servers:
  - {name: market, url: "${MARKET_URL}", type: sse}
  - {name: desk, url: "http://desk"}
action_endpoint: {actions_module: actions}
tracker_store: {type: SQL}
lock_store: {type: redis}
event_broker: {type: kafka}
rasa_react_ext: {store: "x.db"}
"""


def _offline(text: str, **servers: str) -> dict[str, object]:
    written = offline_endpoints(text, model_url="http://model/v1", servers=servers)
    value: dict[str, object] = yaml.safe_load(written)
    return value


def test_what_a_test_keeps_lies_in_a_folder_of_its_own(tmp_path: Path) -> None:
    store = {"store": str(tmp_path / "store.db")}
    recorded = "rasa_react_ext: {trace_folder: traces}"
    for text, section in (
        (WRITTEN, store),
        ("model_groups: []", store),
        (recorded, {**store, "trace_folder": str(tmp_path / "traces")}),
    ):
        written = offline_endpoints(text, model_url="http://model/v1", servers={}, state=tmp_path)
        assert yaml.safe_load(written)["rasa_react_ext"] == section


def test_models_keep_their_names_and_settings_and_lose_their_providers() -> None:
    key = {"api_base": "http://model/v1", "api_key": "${OPENAI_API_KEY}"}
    assert _offline(WRITTEN)["model_groups"] == [
        {
            "id": "commands",
            "models": [
                {"provider": "openai", "model": "gpt-dep", **key, "timeout": 7},
                {"provider": "openai", "model": "claude", **key, "temperature": 0.2},
            ],
            "router": {"routing_strategy": "simple-shuffle"},
        },
        "odd",
    ]


def test_the_given_servers_are_replaced_and_the_others_stay() -> None:
    assert _offline(WRITTEN, market="http://127.0.0.1:1/mcp")["mcp_servers"] == [
        {"name": "market", "url": "http://127.0.0.1:1/mcp", "type": "http"},
        {"name": "desk", "url": "http://desk"},
    ]


def test_shared_state_is_left_out_and_the_rest_stays() -> None:
    kept = ["model_groups", "mcp_servers", "action_endpoint", "rasa_react_ext"]
    assert list(_offline(WRITTEN)) == kept
    assert _offline("") == {}


def test_a_server_that_is_not_there_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'market'"):
        _offline(WRITTEN, markt="http://x")
    with pytest.raises(ConfigurationError, match="Named are: none"):
        _offline("", market="http://x")


@pytest.mark.parametrize("text", ["- 1", "a: [", "text"])
def test_what_is_no_mapping_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        _offline(text)
    assert "\n" not in str(refusal.value)
