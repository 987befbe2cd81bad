"""Agent cards of protocol 0.3 and 1.0: read, and asked what they say."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard
from google.protobuf.json_format import ParseError

from rasa_react_ext.a2a_wire.interface import TRANSPORTS, choose_interface

__all__ = [
    "card_from_json",
    "has_push",
    "has_streaming",
    "interface_urls",
    "security_mismatch",
    "security_names",
]

_INTERFACES = frozenset({"supportedInterfaces", "supported_interfaces"})
_LIST_OF = "an object with name, capabilities and supportedInterfaces (or url)"


def card_from_json(text: str | bytes) -> AgentCard:
    """Read a card.

    Raises:
        ValueError: It is no card, or names no interface we can use; the text says why.
    """
    try:
        data: Any = json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error})") from error
    if not isinstance(data, Mapping) or not data.get("name"):
        raise ValueError(f"a card is {_LIST_OF}")
    try:
        card = parse_agent_card(copy.deepcopy(dict(data)))
    except (ParseError, AttributeError, TypeError) as error:
        raise ValueError(f"it does not follow the protocol ({error})") from error
    choose_interface(card, older=_INTERFACES.isdisjoint(data))
    return card


def interface_urls(card: AgentCard) -> list[str]:
    """Addresses of the interfaces we can use, in the agent's order of preference."""
    return [i.url for i in card.supported_interfaces if i.protocol_binding in TRANSPORTS]


def has_streaming(card: AgentCard) -> bool:
    """Whether the agent streams."""
    return bool(card.capabilities.streaming)


def has_push(card: AgentCard) -> bool:
    """Whether the agent sends push notifications."""
    return bool(card.capabilities.push_notifications)


def security_names(card: AgentCard) -> set[str]:
    """Kinds of the security schemes that alone satisfy the card; empty if none is needed.

    Each is one of `api_key:HEADER`, `bearer`, `basic`, `oauth2`, `oidc`, `mtls`.
    """
    names: set[str] = set()
    for requirement in card.security_requirements:
        if not requirement.schemes:
            return set()
        names.update(_kind(card, name) for name in requirement.schemes)
    return names


def _kind(card: AgentCard, name: str) -> str:
    if name not in card.security_schemes:
        return name
    scheme = card.security_schemes[name]
    if scheme.HasField("api_key_security_scheme"):
        return f"api_key:{scheme.api_key_security_scheme.name}"
    if scheme.HasField("http_auth_security_scheme"):
        return scheme.http_auth_security_scheme.scheme.lower()
    kinds = {
        "oauth2_security_scheme": "oauth2",
        "open_id_connect_security_scheme": "oidc",
        "mtls_security_scheme": "mtls",
    }
    return next((kind for key, kind in kinds.items() if scheme.HasField(key)), name)


def security_mismatch(card: AgentCard, header: str | None) -> str:
    """Why the configured credentials cannot satisfy a card; empty if they may.

    Args:
        card: The agent's card.
        header: Name of the header that carries our credentials; None without any.
    """
    wanted = security_names(card)
    if not wanted:
        return ""
    listed = ", ".join(sorted(wanted))
    if header is None:
        return f"the card demands {listed}, but no `auth` is configured"
    bearer = {"bearer", "basic", "oauth2", "oidc"} & wanted
    keys = {kind.partition(":")[2].lower() for kind in wanted if kind.startswith("api_key:")}
    if header.lower() in keys or (header.lower() == "authorization" and bearer):
        return ""
    return f"the card demands {listed}, but the configured credentials go into {header!r}"
