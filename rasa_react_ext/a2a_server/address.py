"""Which addresses may be pushed to: public ones, or those of an allow-list.

Checked when a subscription is made and again at each connection, on the resolved
address that is then connected to, so a name that changes its address gains nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

__all__ = ["AddressPolicy", "CheckedResolver", "RefusedAddressError"]

RESOLVE_SECONDS = 5.0
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class RefusedAddressError(OSError):
    """An address that may not be pushed to; the text says why."""


class AddressPolicy:
    """The rules of one server."""

    def __init__(self, allowed_hosts: Sequence[str] | None, *, private: bool = False) -> None:
        """Set the rules.

        Args:
            allowed_hosts: Hosts, with their subdomains; None for any.
            private: Whether those hosts may have addresses that are not public.
        """
        self._allowed = None if allowed_hosts is None else tuple(map(_plain, allowed_hosts))
        self._private = private and allowed_hosts is not None

    async def check(self, url: str) -> None:
        """Refuse an address that is not allowed, or whose name resolves to one.

        Raises:
            RefusedAddressError: It may not be pushed to.
        """
        host = self.check_form(url)
        await self.resolved(host)

    def check_form(self, url: str) -> str:
        """Refuse what needs no look-up to be refused; the host otherwise.

        Raises:
            RefusedAddressError: It may not be pushed to.
        """
        parts = _split(url)
        if parts.scheme not in ("http", "https"):
            raise RefusedAddressError("only http and https are allowed")
        if parts.username is not None or parts.password is not None:
            raise RefusedAddressError("it holds credentials")
        host = _plain(parts.hostname or "")
        if not host:
            raise RefusedAddressError("it names no host")
        if self._allowed is not None and not any(
            host == allowed or host.endswith(f".{allowed}") for allowed in self._allowed
        ):
            raise RefusedAddressError("its host is not on the allow-list")
        if not self._private and (host == "localhost" or host.endswith(".localhost")):
            raise RefusedAddressError("its address is not public")
        return host

    async def resolved(self, host: str, port: int = 0) -> list[str]:
        """The addresses of a host, all of them allowed.

        Raises:
            RefusedAddressError: It has none, or one that is not public.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError, TimeoutError) as error:
            raise RefusedAddressError("its host cannot be resolved") from error
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not addresses or not all(self._is_allowed(address) for address in addresses):
            raise RefusedAddressError("its address is not public")
        return addresses

    def _is_allowed(self, text: str) -> bool:
        if self._private:
            return True
        address: ipaddress.IPv4Address | ipaddress.IPv6Address
        address = ipaddress.ip_address(text.partition("%")[0])
        if isinstance(address, ipaddress.IPv6Address):
            address = _inner(address)
        return address.is_global and not address.is_multicast


class CheckedResolver(AbstractResolver):
    """Resolves names for a connection, to allowed addresses only."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """The addresses to connect to.

        Raises:
            RefusedAddressError: The host may not be connected to.
        """
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await self._policy.resolved(host, port)
        ]

    async def close(self) -> None:
        """Nothing is held."""


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise RefusedAddressError("it is no address") from error
    return parts


def _plain(host: str) -> str:
    return host.strip().rstrip(".").lower()


def _inner(
    address: ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address that an IPv6 one only wraps."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
