"""Authentication of requests: guarded foreign schemes and OAuth client credentials.

Tokens and secrets stay in here; no error text and no representation shows them.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator
from time import monotonic
from typing import Any
from urllib.parse import quote_plus
from weakref import WeakKeyDictionary

import httpx

from rasa_react_ext.errors import PeerError

__all__ = ["ClientCredentials", "GuardedAuth"]

_TOKEN_SECONDS = 10.0
_DEFAULT_LIFE_SECONDS = 3_600.0
_EARLY_SECONDS = 30.0
_EARLY_SHARE = 0.1

_Flow = AsyncGenerator[httpx.Request, httpx.Response]


class _TokenError(Exception):
    """No token; the text is fit to be shown."""


class GuardedAuth(httpx.Auth):
    """Runs somebody's scheme: once more after a 401, and with its failures as ours.

    A scheme that reads its token anew gets the chance to do so; a second 401 stands.
    """

    def __init__(self, server: str, auth: httpx.Auth) -> None:
        self._server = server
        self._auth = auth
        self.requires_request_body = auth.requires_request_body
        self.requires_response_body = auth.requires_response_body

    async def async_auth_flow(self, request: httpx.Request) -> _Flow:
        """Sign the request; see `httpx.Auth`.

        Raises:
            PeerError: The scheme failed.
        """
        for last in (False, True):
            status = 0
            flow = self._auth.async_auth_flow(request)
            try:
                outgoing = await self._step(flow, None)
                while outgoing is not None:
                    response = yield outgoing
                    status = response.status_code
                    outgoing = await self._step(flow, response)
            finally:
                await flow.aclose()
            if status != 401 or last or isinstance(self._auth, ClientCredentials):
                return

    async def _step(self, flow: _Flow, response: httpx.Response | None) -> httpx.Request | None:
        """The next request of the scheme, or None at its end."""
        try:
            if response is None:
                return await anext(flow)
            return await flow.asend(response)  # codespell:ignore asend
        except StopAsyncIteration:
            return None
        except (PeerError, httpx.HTTPError):
            raise
        except Exception as error:  # somebody's scheme may raise anything, with secrets in it
            said = str(error) if isinstance(error, _TokenError) else type(error).__name__
            raise PeerError(self._server, f"cannot authenticate: {said}") from error


class ClientCredentials(httpx.Auth):
    """OAuth 2.0 client credentials (RFC 6749, section 4.4).

    The token is renewed shortly before it expires and once when a server refuses it;
    requests that need one at the same time share the renewal.
    """

    def __init__(
        self,
        *,
        token_url: str,
        client_id: str,
        client_secret: str,
        scope: str | None = None,
        audience: str | None = None,
        timeout_seconds: float = _TOKEN_SECONDS,
    ) -> None:
        """Keep what is needed to ask for tokens.

        Args:
            token_url: Address of the token endpoint.
            client_id: Name of this client there.
            client_secret: Its secret.
            scope: Scopes to ask for, separated by spaces.
            audience: Server the token is meant for, where the endpoint wants to know.
            timeout_seconds: Time the token endpoint has for each step of an answer.
        """
        self._url = token_url
        pair = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
        self._basic = f"Basic {b64encode(pair.encode()).decode()}"
        self._form = {"grant_type": "client_credentials"}
        if scope:
            self._form["scope"] = scope
        if audience:
            self._form["audience"] = audience
        self._timeout_seconds = timeout_seconds
        self._token = ""
        self._renew_at = 0.0
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def async_auth_flow(self, request: httpx.Request) -> _Flow:
        """Sign the request; see `httpx.Auth`."""
        refused = ""
        for _ in range(2):
            lock = self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock())
            async with lock:
                if not self._token or self._token == refused or monotonic() >= self._renew_at:
                    response = yield self._token_request()
                    self._take(response.status_code, await response.aread())
            used = self._token
            request.headers["Authorization"] = f"Bearer {used}"
            response = yield request
            if response.status_code != 401:
                return
            refused = used

    def _token_request(self) -> httpx.Request:
        return httpx.Request(
            "POST",
            self._url,
            data=self._form,
            headers={"Authorization": self._basic, "Accept": "application/json"},
            extensions={"timeout": httpx.Timeout(self._timeout_seconds).as_dict()},
        )

    def _take(self, status: int, body: bytes) -> None:
        self._token = ""
        if status != 200:
            raise _TokenError(f"the token endpoint answered HTTP {status}")
        try:
            answer: dict[str, Any] = httpx.Response(200, content=body).json()
            token = answer["access_token"]
            life = float(answer.get("expires_in") or _DEFAULT_LIFE_SECONDS)
        except (ValueError, KeyError, TypeError) as error:
            raise _TokenError("the token endpoint gave no access token") from error
        self._token = str(token)
        self._renew_at = monotonic() + life - min(_EARLY_SECONDS, life * _EARLY_SHARE)
