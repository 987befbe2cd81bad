"""Which interface of an agent's card is spoken to, and what is wrong with the others."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from a2a.types import AgentCard, AgentInterface
from a2a.utils.constants import TransportProtocol

__all__ = ["TRANSPORTS", "choose_interface"]

TRANSPORTS = (
    TransportProtocol.JSONRPC.value,
    TransportProtocol.HTTP_JSON.value,
    TransportProtocol.GRPC.value,
)
"""The transports we speak."""

_HTTP_SCHEMES = frozenset({"http", "https"})
_GRPC_SCHEMES = _HTTP_SCHEMES | {"grpc", "grpcs"}
_GRPC_TARGET = re.compile(
    r"(?:dns|ipv4|ipv6|unix|unix-abstract|vsock|xds):\S+|(?:\[[0-9a-fA-F:.]+\]|[^\s/:@\[\]]+)(?::\d{1,5})?"
)
_CURRENT = re.compile(r"1(?:\.\d+)*")
_OLDER = re.compile(r"0\.3(?:\.\d+)*")


def choose_interface(card: AgentCard, *, older: bool = False) -> AgentInterface:
    """The interface to speak to: the first transport in the agent's order, its newest protocol.

    Args:
        card: The agent's card.
        older: Whether it was written as protocol 0.3 says, for the names of its fields.

    Raises:
        ValueError: None can be spoken to; the text names each field and what it should be.
    """
    offered = [interface.protocol_binding for interface in card.supported_interfaces]
    if not offered:
        raise ValueError("it names no interface (supportedInterfaces, or url in 0.3)")
    if not any(binding in TRANSPORTS for binding in offered):
        raise ValueError(
            f"it offers only {', '.join(map(repr, offered))}; we speak {', '.join(TRANSPORTS)}"
        )
    usable: list[AgentInterface] = []
    problems: list[str] = []
    for index, interface in enumerate(card.supported_interfaces):
        if interface.protocol_binding not in TRANSPORTS:
            continue
        problem = _problem(interface, index, older=older)
        if problem:
            problems.append(problem)
        else:
            usable.append(interface)
    if not usable:
        raise ValueError("; ".join(problems))
    binding = usable[0].protocol_binding
    return max((i for i in usable if i.protocol_binding == binding), key=_rank)


def _rank(interface: AgentInterface) -> int:
    version = interface.protocol_version
    return (2 if _CURRENT.fullmatch(version) else 1) if version else 0


def _problem(interface: AgentInterface, index: int, *, older: bool) -> str:
    """What is wrong with an interface, after the name of the field; empty if nothing is."""
    above = f"supportedInterfaces[{index}]."
    if older:
        above = f"additionalInterfaces[{index - 1}]." if index else ""
    binding, version = interface.protocol_binding, interface.protocol_version
    if not interface.url:
        return f"{above}url: the {binding} interface has no url"
    if binding == TransportProtocol.GRPC:
        if not _is_grpc(interface.url):
            return (
                f"{above}url: {interface.url!r} is no address for {binding}; it should be "
                "host:port, or http(s):// or grpc(s):// with a host"
            )
    elif not _has_host(interface.url, _HTTP_SCHEMES):
        return (
            f"{above}url: {interface.url!r} is no address for {binding}; it should be http(s):// "
            "with a host"
        )
    if version and not (_CURRENT.fullmatch(version) or _OLDER.fullmatch(version)):
        key = "protocolVersion" if older else f"{above}protocolVersion"
        return f"{key}: {version!r} is not spoken here; 1.0 and 0.3 are"
    return ""


def _is_grpc(url: str) -> bool:
    if "://" in url:
        return _has_host(url, _GRPC_SCHEMES)
    return _GRPC_TARGET.fullmatch(url) is not None


def _has_host(url: str, schemes: frozenset[str]) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
