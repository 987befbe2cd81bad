"""Cards of both protocols, and what they demand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rasa_react_ext.a2a_wire import card_from_json, has_push, has_streaming, interface_urls
from rasa_react_ext.a2a_wire.card import security_mismatch

OLDER: dict[str, Any] = {
    "name": "a",
    "url": "http://x/rpc",
    "preferredTransport": "JSONRPC",
    "protocolVersion": "0.3.0",
    "additionalInterfaces": [{"url": "http://x/rest", "transport": "HTTP+JSON"}],
    "capabilities": {"streaming": True},
}
CURRENT: dict[str, Any] = {
    "name": "a",
    "supportedInterfaces": [
        {"url": "x:1", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": "http://x/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ],
    "capabilities": {"pushNotifications": True},
}


def read(card: Any) -> Any:
    return card_from_json(json.dumps(card))


def test_a_card_of_0_3_and_one_of_1_0_are_read_alike() -> None:
    older, current = read(OLDER), read(CURRENT)
    assert interface_urls(older) == ["http://x/rpc", "http://x/rest"]
    assert interface_urls(current) == ["x:1", "http://x/rpc"]
    assert (has_streaming(older), has_push(older)) == (True, False)
    assert (has_streaming(current), has_push(current)) == (False, True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no JSON"),
        ("[]", "a card is"),
        ('{"name": "a"}', "names no interface"),
        ('{"name": "a", "supportedInterfaces": [{"url": "x", "protocolBinding": "CARRIER"}]}',
         "offers only 'CARRIER'"),
        ('{"name": "a", "supportedInterfaces": [{"protocolBinding": "JSONRPC"}]}',
         r"supportedInterfaces\[0\]\.url: the JSONRPC interface has no url"),
        ('{"name": "a", "skills": "none", "url": "http://x"}', "does not follow the protocol"),
    ],
)  # fmt: skip
def test_an_unusable_card_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        card_from_json(text)


BEARER = {"b": {"type": "http", "scheme": "Bearer"}}
KEY = {"k": {"type": "apiKey", "in": "header", "name": "X-Key"}}


@pytest.mark.parametrize(
    ("schemes", "security", "header", "problem"),
    [
        ({}, [], None, ""),
        (BEARER, [], None, ""),
        (BEARER, [{"b": []}], None, "no `auth` is configured"),
        (BEARER, [{"b": []}], "Authorization", ""),
        (BEARER, [{"b": []}], "X-Key", "go into 'X-Key'"),
        (KEY, [{"k": []}], "x-key", ""),
        (KEY, [{"k": []}], "Authorization", "api_key:X-Key"),
        (BEARER | KEY, [{"b": []}, {"k": []}], "X-Key", ""),
    ],
)
def test_a_cards_security_is_compared_with_our_credentials(
    schemes: dict[str, Any], security: list[Any], header: str | None, problem: str
) -> None:
    card = read({**OLDER, "securitySchemes": schemes, "security": security})
    found = security_mismatch(card, header)
    assert problem in found
    assert bool(problem) == bool(found)
