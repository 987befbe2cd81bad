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
