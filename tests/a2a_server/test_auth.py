"""Callers prove who they are by key or token; what is wrong with either is never told."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from rasa_react_ext.a2a_server import key_set
from rasa_react_ext.a2a_server.auth import Authenticator
from rasa_react_ext.a2a_server.call import Call
from rasa_react_ext.a2a_server.settings import AuthSettings
from tests.a2a_server.serving import rpc, server
from tests.a2a_server.test_once import body
from tests.mcp_pool.mcp_server import serving

SECRET = "a secret of at least sixty-four bytes, as the longer algorithm wants it, truly"


def private_key(algorithm: str) -> Any:
    if algorithm.startswith("ES"):
        return ec.generate_private_key(ec.SECP256R1() if "256" in algorithm else ec.SECP521R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem(key: Any) -> bytes:
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    pem: bytes = key.public_key().public_bytes(serialization.Encoding.PEM, kind)
    return pem


def claims(**more: Any) -> dict[str, Any]:
    return {"sub": "anna", "exp": time.time() + 60, **more}


async def caller(authenticator: Authenticator, token: str) -> str | None:
    call = Call()
    known = await authenticator.caller({"authorization": f"Bearer {token}"}, call)
    return call.caller if known else None


@pytest.mark.parametrize(
    "algorithm", ["HS256", "HS512", "RS256", "RS512", "ES256", "ES512", "PS256"]
)
async def test_tokens_of_the_documented_algorithms_are_checked(
    tmp_path: Path, algorithm: str
) -> None:
    settings: dict[str, Any] = {"algorithm": algorithm}
    signing: Any = SECRET
    if algorithm.startswith("HS"):
        settings["secret"] = SECRET
    else:
        signing = private_key(algorithm)
        (tmp_path / "key.pem").write_bytes(public_pem(signing))
        settings["public_key_path"] = str(tmp_path / "key.pem")
    authenticator = Authenticator(AuthSettings.model_validate({"jwt": settings}))

    assert await caller(authenticator, jwt.encode(claims(), signing, algorithm)) == "anna"
    other = SECRET + "x" if algorithm.startswith("HS") else private_key(algorithm)
    assert await caller(authenticator, jwt.encode(claims(), other, algorithm)) is None


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "anna"),
        ({"sub": None, "client_id": "bot"}, "bot"),
        ({"sub": None}, "orchestrator"),
        ({"exp": None}, None),
        ({"exp": -3600}, None),
        ({"exp": -5}, "anna"),
        ({"nbf": 3600}, None),
        ({"iss": "them"}, None),
        ({"aud": "them"}, None),
        ({"aud": ["us", "them"]}, "anna"),
    ],
)
async def test_claims_are_demanded_and_leeway_is_given(
    changed: dict[str, Any], expected: str | None
) -> None:
    authenticator = Authenticator(
        AuthSettings.model_validate(
            {"jwt": {"algorithm": "HS256", "secret": SECRET, "issuer": "we", "audience": "us"}}
        )
    )
    said = {**claims(iss="we", aud="us"), **changed}
    for moment in {"exp", "nbf"} & changed.keys():  # given in seconds from now
        said[moment] = None if changed[moment] is None else time.time() + changed[moment]
    token = jwt.encode({k: v for k, v in said.items() if v is not None}, SECRET, "HS256")

    assert await caller(authenticator, token) == expected


async def test_a_token_of_another_algorithm_or_none_is_refused(tmp_path: Path) -> None:
    key = private_key("RS256")
    (tmp_path / "key.pem").write_bytes(public_pem(key))
    path = str(tmp_path / "key.pem")
    authenticator = Authenticator(AuthSettings.model_validate({"jwt": {"public_key_path": path}}))

    for token in (
        jwt.encode(claims(), key, "PS256"),
        jwt.encode(claims(), None, "none"),
        "",
        "a.b.c",
        "é",
    ):
        assert await caller(authenticator, token) is None


@asynccontextmanager
async def issuer(keys: dict[str, Any], asked: list[int]) -> AsyncIterator[str]:
    async def key_list(request: Request) -> JSONResponse:
        asked.append(1)
        found = []
        for key_id, key in keys.items():
            jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
            found.append({**jwk, "kid": key_id, "alg": "RS256"})
        return JSONResponse({"keys": found})

    with serving(lambda: Starlette(routes=[Route("/keys", key_list)])) as served:
        yield served.url.removesuffix("/mcp") + "/keys"


async def test_keys_of_an_issuer_are_fetched_once_and_anew_when_one_is_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(key_set, "RETRY_SECONDS", 0.0)
    keys = {"one": private_key("RS256")}
    asked: list[int] = []
    async with issuer(keys, asked) as url:
        authenticator = Authenticator(AuthSettings.model_validate({"jwt": {"jwks_url": url}}))

        def token(key_id: str) -> str:
            return jwt.encode(claims(), keys[key_id], "RS256", headers={"kid": key_id})

        old = token("one")
        assert await caller(authenticator, old) == "anna"
        assert await caller(authenticator, token("one")) == "anna"
        assert len(asked) == 1
        keys["two"] = private_key("RS256")
        del keys["one"]
        assert await caller(authenticator, token("two")) == "anna"
        assert len(asked) == 2
        assert await caller(authenticator, old) is None


async def test_a_refusal_is_the_same_whatever_is_wrong(store: str) -> None:
    auth = {
        "jwt": {"algorithm": "HS256", "secret": SECRET},
        "api_key": {"keys": {"anna": "key-a"}},
    }
    expired = jwt.encode({"sub": "a", "exp": 1}, SECRET, "HS256")
    async with server(store, auth=auth) as served:
        answers = [
            await rpc(served.url, method, body("hello", "m"), headers=headers)
            for method in ("SendMessage", "Nothing")
            for headers in (
                {},
                {"Authorization": "Bearer nonsense"},
                {"Authorization": f"Bearer {expired}"},
                {"X-API-Key": "wrong"},
            )
        ]
        assert {status for status, _ in answers} == {401}
        assert len({json.dumps(answer) for _, answer in answers}) == 1
        status, _ = await rpc(
            served.url, "SendMessage", body("hello", "m"), headers={"X-API-Key": "key-a"}
        )
        assert status == 200
        assert [turn.caller for turn in served.bot.runs] == ["anna"]
