"""What is refused once the mistakes that were told are taken out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.a2a_server.settings import read_settings as read_server
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.inspection.files import parts_of
from rasa_react_ext.host.inspection.mend import read_mending
from rasa_react_ext.host.settings import read_settings


@pytest.mark.parametrize(
    ("read", "written", "keys"),
    [
        (read_server, {"auth": {"jwt": "x"}}, ["auth: jwt"]),
        (read_server, {"auth": {"jwt": {"issuer": "x"}}}, ["auth: jwt"]),
        (
            read_server,
            {"auth": {"jwt": {"public_key_path": 5}}, "lease_seconds": 0},
            ["auth: jwt: public_key_path", "lease_seconds"],
        ),
        (read_server, {"auth": {}}, ["auth"]),
        (
            lambda section: read_settings({}, section),
            {"mcp_servers": {"a": {"transport": "stdio", "command": [1]}, "b": {"url": [1]}}},
            ["mcp_servers: a: command", "mcp_servers: b: url"],
        ),
    ],
)
def test_what_lacks_only_a_value_that_was_told_to_be_wrong_is_no_second_mistake(
    read: Callable[[Any], Any], written: dict[str, Any], keys: list[str]
) -> None:
    told = list[ConfigurationError]()
    entry = written if read is not read_server else {"description": "A desk.", **written}
    read_mending(entry, read, told.append, lambda error: parts_of(error.key)[1:])
    assert sorted(": ".join(parts_of(error.key)[1:]) for error in told) == keys
