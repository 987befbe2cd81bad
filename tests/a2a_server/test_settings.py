"""A wrong key or value is refused with file, key and fix."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.a2a_server import read_settings
from rasa_react_ext.errors import ConfigurationError


def test_the_hosts_keys_are_taken_as_they_are() -> None:
    settings = read_settings(
        {
            "url": "https://bank.example",
            "description": "A bank.",
            "task_timeout_seconds": 0,
            "a2a_message_cache_ttl_seconds": 30,
            "max_contexts": 0,
            "push_notifications_enabled": True,
            "push_notification_allowed_hosts": ["example.com"],
            "include_conversation_repair": False,
            "auth": {"type": "bearer", "jwt": {"algorithm": "HS256", "secret": "s"}},
        }
    )
    assert settings.remembered_seconds == 30


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({}, "description"),
        ({"description": "x", "max_context": 1}, "'max_contexts'"),
        ({"description": "x", "auth": {}}, "jwt"),
        ({"description": "x", "auth": {"jwt": {"algorithm": "RS256"}}}, "public_key_path"),
        ({"description": "x", "auth": {"jwt": {"algorithm": "XX"}}}, "algorithm"),
        ({"description": "x", "auth": {"jwt": {"secrets": "x"}}}, "'secret'"),
        ({"description": "x", "task_timeout_seconds": -1}, "task_timeout_seconds"),
        ({"description": "x", "push_notification_allowed_hosts": []}, "allowed_hosts"),
        ({"description": "x", "push_allow_private_addresses": True}, "allowed_hosts"),
        ({"description": "x", "path": "a2a"}, "path"),
        ({"description": "x", "grpc": {"port": 1, "certificate_path": "c"}}, "private_key_path"),
        ({"description": "x", "grpc": {"port": 1, "private_key_path": "k"}}, "certificate_path"),
    ],
)
def test_a_wrong_entry_is_refused(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        read_settings(entry)
    assert refused.value.file == "credentials.yml"
    assert "rasa_react_ext.channels.A2AServer" in refused.value.key


@pytest.mark.parametrize(
    ("change", "key", "fix"),
    [
        ({"auth": {"api_key": {"keys": {"b": "$KEY"}}}}, "auth: api_key: keys: b", "${KEY}"),
        ({"auth": {"api_key": {"keys": {"b": "${KEY"}}}}, "auth: api_key: keys: b", "${KEY}"),
        ({"encryption_key": "$KEY"}, "encryption_key", "${KEY}"),
        ({"encryption_key": "$KEY}"}, "encryption_key", "${KEY}"),
        (
            {"auth": {"jwt": {"algorithm": "HS256", "secret": "$KEY"}}},
            "auth: jwt: secret",
            "${KEY}",
        ),
        ({"url": "$KEY"}, "url", "${KEY}"),
        ({"url": "https://$KEY/desk"}, "url", "${KEY}"),
        ({"url": "https://${KEY/desk"}, "url", "${KEY}"),
        ({"push_notification_allowed_hosts": ["$KEY"]}, "push_notification_allowed_hosts: 0", ""),
        ({"grpc": {"port": 1, "url": "$KEY:50051"}}, "grpc: url", "${KEY}"),
        ({"auth": {"jwt": {"jwks_url": "https://$KEY/keys"}}}, "auth: jwt: jwks_url", "${KEY}"),
        ({"agent_card_path": "$KEY/card.json"}, "agent_card_path", "${KEY}"),
    ],
)
def test_the_name_of_a_variable_in_a_form_that_is_not_filled_in_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], key: str, fix: str
) -> None:
    monkeypatch.delenv("KEY", raising=False)
    with pytest.raises(ConfigurationError) as refused:
        read_settings({"description": "x", **change})
    assert refused.value.file == "credentials.yml"
    assert refused.value.key == f"rasa_react_ext.channels.A2AServer: {key}"
    assert fix in refused.value.fix
    assert refused.value.fix.endswith("and set KEY.")
    monkeypatch.setenv("KEY", "a")
    with pytest.raises(ConfigurationError) as refused:
        read_settings({"description": "x", **change})
    assert refused.value.fix == "Write ${KEY}."


def test_a_refused_value_that_may_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_settings({"description": "x", "encryption_key": "$wOrd"})
    assert "wOrd" not in str(refused.value)


def test_secrets_and_words_may_hold_the_sign() -> None:
    keys = {"b": "pa$word", "c": "pa${word", "d": "${KEY}"}
    read_settings({"description": "Costs $USD 5", "auth": {"api_key": {"keys": keys}}})
