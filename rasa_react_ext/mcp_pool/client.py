"""The HTTP client of one session: limits, time limits, TLS, headers, authentication.

Redirects are never followed: a request carries credentials meant for one address.
"""

from __future__ import annotations

import socket
import ssl
from functools import lru_cache
from urllib.request import getproxies

import httpx

from rasa_react_ext.mcp_pool.auth import GuardedAuth
from rasa_react_ext.mcp_pool.spec import ServerSpec

__all__ = ["NOT_SENT", "http_client", "in_words"]

NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
"""Errors after which nothing of the request has reached the server."""

# Common servers drop idle connections after 5 s. A connection reused in that moment
# loses the call with its outcome unknown, so ours are given up earlier.
_LIMITS = httpx.Limits(max_connections=256, max_keepalive_connections=32, keepalive_expiry=4.0)
# Notices a peer that vanished without a word, on streams that may be silent for hours.
_KEEPALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]


def http_client(spec: ServerSpec) -> httpx.AsyncClient:
    """Build the client of one session.

    Reading has no time limit here: each call has its own deadline, and the stream of
    server messages may be silent for hours. Proxies of the environment are honoured.

    Raises:
        OSError: A file of authorities or certificates cannot be read.
    """
    tls = _tls(spec.verify, spec.ca_file, spec.client_cert_file, spec.client_key_file)
    direct = httpx.AsyncHTTPTransport(verify=tls, limits=_LIMITS, socket_options=_KEEPALIVE)
    return httpx.AsyncClient(
        headers=dict(spec.headers),
        auth=None if spec.auth is None else GuardedAuth(spec.name, spec.auth),
        timeout=httpx.Timeout(None, connect=spec.connect_timeout_seconds, write=30.0),
        verify=tls,
        limits=_LIMITS,
        # The least specific mount: a proxy for the scheme goes before it.
        mounts={} if "all" in getproxies() else {"all://": direct},
    )


def in_words(error: Exception) -> str:
    """What to say of a network error; many have no text of their own."""
    return str(error) or type(error).__name__


@lru_cache(maxsize=32)
def _tls(
    verify: bool, ca_file: str | None, cert_file: str | None, key_file: str | None
) -> ssl.SSLContext:
    """Loading authorities costs tens of milliseconds, so contexts are shared."""
    if ca_file is None:
        context = httpx.create_ssl_context(verify=verify)
    else:
        context = ssl.create_default_context(cafile=ca_file)
        context.check_hostname = verify
        context.verify_mode = ssl.CERT_REQUIRED if verify else ssl.CERT_NONE
    if cert_file is not None:
        context.load_cert_chain(cert_file, key_file)
    return context
