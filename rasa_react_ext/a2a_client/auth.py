"""Signing requests with a scheme from outside, which is made anew once after a 401."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

import httpx

from rasa_react_ext.errors import PeerError

__all__ = ["RenewingAuth"]

_Flow = AsyncGenerator[httpx.Request, httpx.Response]


class RenewingAuth(httpx.Auth):
    """Runs the scheme; after a 401 it is made anew, once for all who met the refusal."""

    def __init__(self, agent: str, make: Callable[[], httpx.Auth]) -> None:
        self._agent = agent
        self._make = make
        self._scheme = make()
        self.requires_request_body = self._scheme.requires_request_body
        self.requires_response_body = self._scheme.requires_response_body

    def renew(self, refused: httpx.Auth) -> bool:
        """Make the scheme anew, unless somebody already has; True if one may try again."""
        if self._scheme is refused:
            self._scheme = self._make()
        return True

    @property
    def scheme(self) -> httpx.Auth:
        """The scheme in use."""
        return self._scheme

    async def async_auth_flow(self, request: httpx.Request) -> _Flow:
        """Sign the request; see `httpx.Auth`.

        Raises:
            PeerError: The scheme failed; the text holds no secret.
        """
        for last in (False, True):
            scheme, status = self._scheme, 0
            flow = scheme.async_auth_flow(request)
            try:
                outgoing = await self._step(flow, None)
                while outgoing is not None:
                    response = yield outgoing
                    status = response.status_code
                    outgoing = await self._step(flow, response)
            finally:
                await flow.aclose()
            if status != 401 or last:
                return
            self.renew(scheme)

    async def headers(self, url: str) -> dict[str, str]:
        """The headers with which the scheme signs a call; for transports that are not HTTP.

        Raises:
            PeerError: The scheme failed; the text holds no secret.
        """
        request = httpx.Request("POST", url if "://" in url else f"https://{url}")
        before = dict(request.headers)
        flow = self._scheme.async_auth_flow(request)
        try:
            signed = await self._step(flow, None)
        finally:
            await flow.aclose()
        after = signed.headers if signed is not None else request.headers
        return {key: value for key, value in after.items() if before.get(key) != value}

    async def _step(self, flow: _Flow, response: httpx.Response | None) -> httpx.Request | None:
        """The next request of the scheme, or None at its end."""
        try:
            return await (flow.asend(response) if response is not None else anext(flow))
        except StopAsyncIteration:
            return None
        except Exception as error:
            # Somebody's scheme may raise anything, with secrets in the text.
            raise PeerError(
                self._agent,
                f"Agent {self._agent!r} cannot be called: cannot authenticate: {_safe(error)}. "
                "Check auth in its config.yml.",
            ) from error


def _safe(error: Exception) -> str:
    # The host's scheme wraps what kept it from the token endpoint.
    cause = error if isinstance(error, httpx.HTTPError) else error.__cause__
    if isinstance(cause, httpx.HTTPStatusError):
        return f"the token endpoint answered HTTP {cause.response.status_code}"
    if isinstance(cause, httpx.HTTPError):
        return f"the token endpoint cannot be reached ({type(cause).__name__})"
    return type(error).__name__
