"""Credentials: headers, schemes of others, OAuth client credentials, TLS."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from typing import Any
from urllib.parse import parse_qsl

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import ClientCredentials, Pool, PooledTools, PoolEvent, ServerSpec
from tests.mcp_pool.mcp_server import Asgi, Receive, Scope, Send, Served, serving, shop
from tests.mcp_pool.steps import named


class Gate:
    """Lets requests with a valid token through to the shop, and issues tokens."""

    def __init__(self, done: Counter[str]) -> None:
        self.valid: set[str] = set()
        self.issued = 0
        self.expires_in: float = 3600
        self.status = 200
        self.refuse_all = False
        self.seen: list[dict[str, str]] = []
        self.forms: list[dict[str, str]] = []
        self._done = done

    async def token(self, request: Request) -> Response:
        self.forms.append(dict(parse_qsl((await request.body()).decode())))
        if self.status != 200:
            return Response(status_code=self.status)
        self.issued += 1
        token = f"t0ken{self.issued}"
        if not self.refuse_all:
            self.valid.add(token)
        return JSONResponse({"access_token": token, "expires_in": self.expires_in})

    def app(self) -> Asgi:
        inner = shop(self._done).streamable_http_app()
        token = Starlette(routes=[Route("/token", self.token, methods=["POST"])])

        async def gate(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http" and scope["path"] == "/token":
                await token(scope, receive, send)
                return
            if scope["type"] == "http":
                headers = {key.decode(): value.decode() for key, value in scope["headers"]}
                self.seen.append(headers)
                if headers.get("authorization", "").removeprefix("Bearer ") not in self.valid:
                    await Response(status_code=401)(scope, receive, send)
                    return
            await inner(scope, receive, send)

        return gate


@pytest.fixture
def gate(done: Counter[str]) -> Gate:
    return Gate(done)


@pytest.fixture
def server(gate: Gate) -> Iterator[Served]:
    with serving(gate.app) as served:
        yield served


@pytest.fixture
def spec(server: Served) -> ServerSpec:
    auth = ClientCredentials(
        token_url=server.url.replace("/mcp", "/token"),
        client_id="me",
        client_secret="s3cret",
        scope="shop",
        audience="https://shop.example",
    )
    return ServerSpec(name="shop", url=server.url, auth=auth, credentials_key="k", max_retries=0)


async def test_headers_and_tokens_reach_the_server_in_every_request(
    server: Served, gate: Gate, pool: Pool, context: CallContext
) -> None:
    gate.valid.add("fixed")
    headers = {"authorization": "Bearer fixed", "x-api-key": "k3y"}
    tools = PooledTools(pool, ServerSpec(name="shop", url=server.url, headers=headers))
    await tools.call(await named(tools, "echo"), {"text": "x"}, context)
    assert all(seen["x-api-key"] == "k3y" for seen in gate.seen)
    assert len(gate.seen) >= 4


async def test_b67_a_token_is_asked_for_once_and_used_by_all(
    gate: Gate, tools: PooledTools, context: CallContext
) -> None:
    echo = await named(tools, "echo")
    await asyncio.gather(*(tools.call(echo, {"text": "x"}, context) for _ in range(10)))
    assert gate.issued == 1
    assert gate.forms == [
        {"grant_type": "client_credentials", "scope": "shop", "audience": "https://shop.example"}
    ]


async def test_b67_a_token_that_expires_is_renewed_before_it_is_refused(
    gate: Gate, tools: PooledTools, context: CallContext
) -> None:
    gate.expires_in = 0.3
    echo = await named(tools, "echo")
    await asyncio.sleep(0.35)
    gate.valid.clear()
    gate.seen.clear()
    results = await asyncio.gather(*(tools.call(echo, {"text": "x"}, context) for _ in range(5)))
    assert [result.text for result in results] == ["x"] * 5
    assert gate.issued == 2
    assert {seen["authorization"] for seen in gate.seen} == {"Bearer t0ken2"}


async def test_b67_a_refused_token_is_renewed_once_for_parallel_calls(
    gate: Gate, tools: PooledTools, context: CallContext
) -> None:
    echo = await named(tools, "echo")
    gate.valid.clear()
    results = await asyncio.gather(*(tools.call(echo, {"text": "x"}, context) for _ in range(5)))
    assert [result.text for result in results] == ["x"] * 5
    assert gate.issued == 2


async def test_b67_a_new_token_that_is_refused_too_ends_it(
    gate: Gate, tools: PooledTools, context: CallContext, reported: list[PoolEvent]
) -> None:
    echo = await named(tools, "echo")
    gate.valid.clear()
    gate.refuse_all = True
    result = await tools.call(echo, {"text": "x"}, context)
    assert "HTTP 401" in result.text
    assert not result.outcome_unknown
    assert gate.issued == 2
    assert_no_secret(result.text, *(event.text for event in reported))


@pytest.mark.parametrize("status", [400, 500])
async def test_b67_a_token_endpoint_that_fails_is_named_without_secrets(
    gate: Gate, tools: PooledTools, context: CallContext, status: int
) -> None:
    gate.status = status
    assert await tools.tools() == ()
    (missing,) = tools.missing()
    assert missing == f"shop: cannot authenticate: the token endpoint answered HTTP {status}"
    assert_no_secret(missing)


async def test_b67_an_answer_without_a_token_is_named(gate: Gate, tools: PooledTools) -> None:
    gate.expires_in = "soon"  # type: ignore[assignment]
    assert await tools.tools() == ()
    assert "gave no access token" in tools.missing()[0]
    assert_no_secret(*tools.missing())


async def test_b67_a_token_endpoint_that_is_down_is_named(
    server: Served, pool: Pool, free_port: Any
) -> None:
    auth = ClientCredentials(
        token_url=f"http://127.0.0.1:{free_port()}/token", client_id="me", client_secret="s3cret"
    )
    tools = PooledTools(
        pool, ServerSpec(name="shop", url=server.url, auth=auth, credentials_key="k", max_retries=0)
    )
    assert await tools.tools() == ()
    assert "cannot authenticate" in tools.missing()[0]


async def test_b67_a_foreign_scheme_is_run_once_more_after_a_401(
    server: Served, gate: Gate, pool: Pool
) -> None:
    gate.valid.add("second")

    class Scheme(httpx.Auth):
        runs = 0

        async def async_auth_flow(
            self, request: httpx.Request
        ) -> AsyncGenerator[httpx.Request, httpx.Response]:
            self.runs += 1
            request.headers["authorization"] = "Bearer first" if self.runs == 1 else "Bearer second"
            yield request

    scheme = Scheme()
    spec = ServerSpec(name="shop", url=server.url, auth=scheme, credentials_key="k")
    assert await PooledTools(pool, spec).tools()


async def test_a_foreign_scheme_that_fails_shows_no_secret(server: Served, pool: Pool) -> None:
    class Broken(httpx.Auth):
        async def async_auth_flow(
            self, request: httpx.Request
        ) -> AsyncGenerator[httpx.Request, httpx.Response]:
            raise KeyError("s3cret")
            yield request

    spec = ServerSpec(
        name="shop", url=server.url, auth=Broken(), credentials_key="k", max_retries=0
    )
    tools = PooledTools(pool, spec)
    assert await tools.tools() == ()
    assert tools.missing() == ("shop: cannot authenticate: KeyError",)


def test_a_client_of_tokens_works_in_one_loop_after_another(gate: Gate, spec: ServerSpec) -> None:
    pool = Pool()
    tools = PooledTools(pool, spec)

    async def use() -> list[str]:
        echo = await named(tools, "echo")
        context = CallContext(call_id="c", timeout_seconds=10)
        gate.valid.clear()
        results = await asyncio.gather(
            *(tools.call(echo, {"text": "x"}, context) for _ in range(5))
        )
        await pool.aclose()
        return [result.text for result in results]

    assert asyncio.run(use()) == ["x"] * 5
    assert asyncio.run(use()) == ["x"] * 5


def test_no_representation_shows_a_secret(spec: ServerSpec) -> None:
    secret = ServerSpec(
        name="s",
        url="http://x",
        headers={"x-api-key": "s3cret"},
        env={"TOKEN": "s3cret"},
        credentials_key="s3cret",
    )
    assert_no_secret(repr(secret), repr(secret.key), repr(spec), repr(spec.auth))
    with pytest.raises(ValueError, match="credentials_key"):
        ServerSpec(name="s", url="http://x", auth=httpx.BasicAuth("a", "b"))


def assert_no_secret(*texts: str) -> None:
    for text in texts:
        assert "s3cret" not in text
        assert "t0ken" not in text
