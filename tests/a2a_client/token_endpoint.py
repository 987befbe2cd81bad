"""A token endpoint for tests: a real one on loopback that gives tokens to those it knows."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.mcp_pool.mcp_server import Served

__all__ = ["TokenEndpoint", "token_endpoint"]


@dataclass
class TokenEndpoint:
    """Client credentials by RFC 6749, as tests see and steer them.

    Attributes:
        client: Id and secret of the only client.
        forms: What was asked for, with each token that was given.
        refused: How often somebody else asked.
        valid: Tokens that hold.
        answer: Answered instead of a token, if anything.
    """

    client: tuple[str, str] = ("clerk", "s3cret-7741")
    forms: list[dict[str, str]] = field(default_factory=list)
    refused: int = 0
    valid: set[str] = field(default_factory=set)
    answer: tuple[int, Any] | None = None
    served: Served | None = None

    @property
    def url(self) -> str:
        """Where tokens are given."""
        assert self.served is not None
        return f"http://127.0.0.1:{self.served.port}/token"

    def accepts(self, headers: Mapping[str, str]) -> bool:
        """Whether a request with these headers carries a token that holds."""
        return headers.get("authorization", "").removeprefix("Bearer ") in self.valid

    async def give(self, request: Request) -> Response:
        """Give a token."""
        form = dict(parse_qsl((await request.body()).decode()))
        said = base64.b64encode(":".join(self.client).encode()).decode()
        if request.headers.get("authorization") != f"Basic {said}":
            self.refused += 1
            return JSONResponse({"error": "invalid_client"}, 401)
        if self.answer is not None:
            return JSONResponse(self.answer[1], self.answer[0])
        self.forms.append(form)
        token = f"t0ken-{len(self.forms)}"
        self.valid.add(token)
        return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 3600})


@contextlib.contextmanager
def token_endpoint() -> Iterator[TokenEndpoint]:
    """Serve one."""
    endpoint = TokenEndpoint()
    routes = [Route("/token", endpoint.give, methods=["POST"])]
    endpoint.served = Served(lambda: Starlette(routes=routes), "/token")
    endpoint.served.start()
    try:
        yield endpoint
    finally:
        endpoint.served.stop()
