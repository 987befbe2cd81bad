"""A wrong setting is told in the same words, whichever file it stands in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.a2a_server import read_settings as read_server
from rasa_react_ext.errors import ConfigurationError

pytestmark = pytest.mark.host


def _read_engine(values: dict[str, Any]) -> object:
    from rasa_react_ext.host.settings import read_settings

    return read_settings(values, None)


def _read_deployment(values: dict[str, Any]) -> object:
    from rasa_react_ext.host.settings import read_settings

    return read_settings({}, {"mcp_servers": {"far": values}})


def _read_reports(values: dict[str, Any]) -> object:
    from rasa_react_ext.channels import TaskUpdates

    return TaskUpdates.from_credentials(values)


@pytest.mark.parametrize(
    ("read", "key", "place"),
    [
        (_read_engine, "background_seconds", "config.yml: policies: rasa_react_ext.policy."),
        (_read_deployment, "connect_timeout_seconds", "endpoints.yml: rasa_react_ext: mcp_servers"),
        (_read_reports, "quiet_seconds", "credentials.yml: rasa_react_ext.channels.TaskUpdates"),
        (read_server, "lease_seconds", "credentials.yml: rasa_react_ext.channels.A2AServer"),
    ],
)
def test_the_same_mistake_is_told_in_the_same_words_at_every_start(
    host: None, read: Callable[[dict[str, Any]], object], key: str, place: str
) -> None:
    entry = {"description": "A desk."} if read is read_server else {}
    with pytest.raises(ConfigurationError) as refused:
        read({**entry, key: "long"})
    words = f"{key}: this must be a number. Write a number, such as 10 or 2.5."
    assert str(refused.value).startswith(place)
    assert str(refused.value).endswith(words)
