"""What looks unusual and is right: keys for providers, kinds of stores, channels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.host.inspection.broken_call import ACTION, FLOW, call
from tests.host.project import hosts_own_warnings

Edit = Callable[[str, str, str], None]

GROUPS = """\
  - id: own
    models:
      - provider: self-hosted
        model: llama
        api_base: http://localhost:8000/v1
        top_k: 20
        temperature: 0
        top_p: ${OPENAI_API_KEY}
        n: "1"
        max_tokens: 2.0
        seed: null
        parallel_tool_calls: false
        min_tokens: 3
        guided_json: {}
        extra_body: {anything: 1}
  - id: cloud
    models:
      - provider: bedrock
        model: claude
        aws_region_name: eu-west-1
        thinking: {type: enabled, budget_tokens: 1024}
      - provider: azure
        deployment: gpt
        api_key: ${OPENAI_API_KEY}
        api_base: ${OPENAI_BASE_URL}
        api_version: "2025-01-01"
    router:
      routing_strategy: simple-shuffle
      num_retries: 2
  - id: embeddings
    models:
      - provider: huggingface_local
        model: BAAI/bge-small-en-v1.5
        model_kwargs: {device: cpu}

"""
CHANNELS = {
    "audiocodes": "{token: secret, keep_alive: 30}",
    "botframework": "{app_id: desk, app_password: secret}",
    "callback": "{url: 'http://localhost/bot'}",
    "genesys": "{server_url: desk.example, asr: {}, tts: {}, api_key: a, client_secret: b}",
    "inspector": "",
    "jambonz": "",
    "mattermost": "{url: 'http://localhost', token: secret, webhook_url: 'http://localhost/hook'}",
    "rasa": "{url: 'http://localhost'}",
    "rocketchat": "{user: desk, password: secret, server_url: 'http://localhost'}",
}
BROKER = """\
from rasa.core.brokers.broker import EventBroker


class Pigeon(EventBroker):
    pass
"""


def test_keys_that_a_provider_may_know_are_not_told(sample: Path, edit: Edit) -> None:
    edit("endpoints.yml", "mcp_servers:", f"{GROUPS}mcp_servers:")
    assert _found() == []


@pytest.mark.parametrize("name", CHANNELS)
def test_a_channel_with_what_it_needs_is_right(name: str, sample: Path, edit: Edit) -> None:
    edit("credentials.yml", "rest:", f"{name}: {CHANNELS[name]}\nrest:")
    assert _found() == []


@pytest.mark.parametrize(
    "store",
    [
        "tracker_store: {type: SQL, dialect: sqlite}",
        "tracker_store: {dialect: sqlite}",
        "lock_store: {type: rasa_react_ext.locks.PostgresLockStore, url: postgresql://db/rasa}",
        "event_broker: {type: pigeons_of_mine.Pigeon}",
    ],
)
def test_kinds_of_stores_are_the_hosts_names_or_classes_of_the_project(
    store: str, sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sample / "pigeons_of_mine.py").write_text(BROKER, encoding="utf-8")
    monkeypatch.syspath_prepend(str(sample))
    edit("endpoints.yml", "mcp_servers:", f"{store}\nmcp_servers:")
    assert _found() == []


@pytest.mark.parametrize(
    "output",
    [
        "result.structuredContent.result",
        "result.structuredContent['result'][0]",
        "result.content[0].text",
        '"result.content | length > 0"',
    ],
)
def test_a_call_of_a_tool_that_fits_is_not_told(output: str, sample: Path, edit: Edit) -> None:
    edit(FLOW, ACTION, call(output=output))
    assert _found() == []


def _found() -> Sequence[object]:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        return asyncio.run(inspect_project(domain="domain.yml", data=["flows"])).findings
