"""A scheme for tests: a bearer token, and a factory that gives one token after the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx


class Bearer(httpx.Auth):
    """Signs with one token."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sign."""
        request.headers["Authorization"] = f"Bearer {self._token}"
        yield request


class Token:
    """Makes schemes; `made` counts them."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = tokens
        self.made = 0

    def __call__(self) -> Bearer:
        """Make the next."""
        token = self._tokens[min(self.made, len(self._tokens) - 1)]
        self.made += 1
        return Bearer(token)
