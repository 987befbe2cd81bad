"""One HTTP session per event loop, shared by every chat model of the process.

A session ends when its last user leaves or when its event loop is shut down,
whichever comes first, so a loop that is left behind leaves no connection open.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path
from weakref import WeakSet, WeakValueDictionary

import aiohttp
import httpx

__all__ = ["CONNECTIONS", "Pool", "join", "leave"]

CONNECTIONS = 64
"""Requests under way at once per endpoint and key; the others wait their turn."""

_KEEP_ALIVE_SECONDS = 60.0
_OFF = {"false", "0", "no", "off"}
_ON = {"true", "1", "yes", "on", ""}


class Pool:
    """The session of one event loop."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session
        self.users = WeakSet[object]()
        # A place lives while somebody is in it or waits, so old keys leave no trace.
        self._places = WeakValueDictionary[tuple[str, str], asyncio.Semaphore]()

    def place(self, url: str, key: str) -> asyncio.Semaphore:
        """The bound on requests under way to one endpoint with one key."""
        return self._places.setdefault((url, key), asyncio.Semaphore(CONNECTIONS))


_open: dict[asyncio.AbstractEventLoop, tuple[Pool, AsyncGenerator[Pool]]] = {}


async def join(user: object) -> Pool:
    """The pool of the running event loop, opened if need be."""
    loop = asyncio.get_running_loop()
    if loop not in _open:
        await _forget_closed_loops()
        # An async generator that has begun is closed by its event loop's shutdown.
        life = _lifetime(loop)
        _open[loop] = (await anext(life), life)
    pool, _ = _open[loop]
    pool.users.add(user)
    return pool


async def leave(user: object) -> None:
    """Give up the running event loop's pool; the last user closes it."""
    loop = asyncio.get_running_loop()
    if loop not in _open:
        return
    pool, life = _open[loop]
    pool.users.discard(user)
    if not pool.users:
        del _open[loop]
        await life.aclose()


async def _lifetime(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[Pool]:
    connector = aiohttp.TCPConnector(
        limit=0, keepalive_timeout=_KEEP_ALIVE_SECONDS, ssl=_ssl_context()
    )
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
    ) as session:
        try:
            yield Pool(session)
        finally:
            _open.pop(loop, None)


async def _forget_closed_loops() -> None:
    """Drop the pools of loops that were closed without a shutdown."""
    for loop in [loop for loop in _open if loop.is_closed()]:
        pool, _ = _open.pop(loop)
        await pool.session.close()


def _ssl_context() -> ssl.SSLContext:
    """Verification as the host sets it up for its own model clients.

    The first that is set counts: `RASA_CA_BUNDLE`, `REQUESTS_CA_BUNDLE`, `SSL_VERIFY`
    (a bundle, a folder, or true or false); a client certificate comes from
    `RASA_SSL_CERTIFICATE` or `SSL_CERTIFICATE`.
    """
    verify = _first_set("RASA_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_VERIFY")
    if verify.lower() in _ON:
        context = httpx.create_ssl_context()
    elif verify.lower() in _OFF:
        context = httpx.create_ssl_context(verify=False)
    elif Path(verify).is_dir():
        context = ssl.create_default_context(capath=verify)
    else:
        context = ssl.create_default_context(cafile=verify)
    if certificate := _first_set("RASA_SSL_CERTIFICATE", "SSL_CERTIFICATE"):
        context.load_cert_chain(certificate)
    return context


def _first_set(*names: str) -> str:
    return next((value for name in names if (value := os.environ.get(name))), "")
