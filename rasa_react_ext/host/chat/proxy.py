"""Finds the proxy that the environment names for an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

__all__ = ["Proxy", "find_proxy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy and how to log in to it.

    Attributes:
        address: Address without credentials.
        tunnel_headers: Headers for the proxy when it opens a tunnel (https).
        request_headers: Headers for the proxy when it sees the request (http).
    """

    address: str
    tunnel_headers: Mapping[str, str] = field(default_factory=dict)
    request_headers: Mapping[str, str] = field(default_factory=dict)


def find_proxy(url: str) -> Proxy | None:
    """The proxy for a URL: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, minus `NO_PROXY`."""
    parts = urlsplit(url)
    proxies = {} if proxy_bypass(parts.netloc) else getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy:
        return None
    address = URL(proxy)
    if address.user is None:
        return Proxy(address=proxy)
    login = aiohttp.encode_basic_auth(address.user, address.password or "")
    headers = {"Proxy-Authorization": login}
    place = "tunnel_headers" if parts.scheme == "https" else "request_headers"
    return Proxy(address=str(address.with_user(None)), **{place: headers})
