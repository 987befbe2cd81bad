"""gRPC channels to agents: encrypted, except where plain text is asked for or stays here."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

import grpc
from grpc import aio

__all__ = ["open_channel", "target_of"]

_PLAIN = {"http", "grpc"}
_OPTIONS = (
    ("grpc.max_receive_message_length", 32 * 1024 * 1024),
    ("grpc.keepalive_time_ms", 30_000),
)


def open_channel(url: str, authorities: str | None = None) -> aio.Channel:
    """A channel to the address in a card.

    Args:
        url: The address.
        authorities: PEM of those who may vouch for it; None means the usual ones.
    """
    target, encrypted = target_of(url)
    if encrypted:
        roots = authorities.encode() if authorities is not None else None
        trusting = grpc.ssl_channel_credentials(root_certificates=roots)
        return aio.secure_channel(target, trusting, options=_OPTIONS)
    return aio.insecure_channel(target, options=_OPTIONS)


def target_of(url: str) -> tuple[str, bool]:
    """Where a channel goes, and whether it is encrypted.

    `https` and `grpcs` encrypt, `http` and `grpc` do not; without a scheme only loopback
    addresses are spoken to in plain text.
    """
    scheme, separator, rest = url.partition("://")
    if separator:
        parts = urlsplit(url)
        plain = scheme.lower() in _PLAIN
        port = parts.port or (80 if plain else 443)
        host = parts.hostname or rest
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}", not plain
    return url, not _is_loopback(url.rpartition(":")[0].strip("[]") or url)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
