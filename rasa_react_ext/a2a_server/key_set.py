"""The public keys of a token issuer, fetched when needed and when a new one turns up."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import aiohttp
import jwt
import structlog

__all__ = ["KeySet"]

_log = structlog.get_logger()
FRESH_SECONDS = 600.0
RETRY_SECONDS = 10.0
FETCH_SECONDS = 10.0
LIMIT = 1024 * 1024


class KeySet:
    """The key set behind an address; any number of tokens may be checked at once."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._keys: dict[str | None, Any] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")
        self._fetching = asyncio.Lock()

    async def key(self, key_id: str | None) -> Any:
        """The key of this id; None if the issuer has none.

        A set is fetched anew when it is old, and, not too often, when it lacks a key.
        """
        now = time.monotonic()
        if now - self._fetched_at > FRESH_SECONDS or self._find(key_id) is None:
            async with self._fetching:
                if time.monotonic() - self._tried_at > RETRY_SECONDS:
                    await self._fetch()
        return self._find(key_id)

    def _find(self, key_id: str | None) -> Any:
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    async def _fetch(self) -> None:
        self._tried_at = time.monotonic()
        try:
            timeout = aiohttp.ClientTimeout(total=FETCH_SECONDS)
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
                session.get(self._url, allow_redirects=False) as response,
            ):
                response.raise_for_status()
                body = await response.content.read(LIMIT)
            found = jwt.PyJWKSet.from_json(body.decode("utf-8"))
        except (aiohttp.ClientError, TimeoutError, ValueError, jwt.PyJWTError) as error:
            _log.error(
                "rasa_react_ext.a2a_server.key_set_unreachable",
                url=self._url,
                reason=str(error),
                event_info="The keys of the token issuer could not be fetched.",
            )
            return
        self._keys = {key.key_id: key.key for key in found.keys}
        self._fetched_at = time.monotonic()
