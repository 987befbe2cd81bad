"""The card says what runs now, how to get in, and is signed where a key is set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver
from a2a.utils.signing import create_signature_verifier
from cryptography.hazmat.primitives import serialization

from rasa_react_ext.a2a_server import Skill
from rasa_react_ext.errors import ConfigurationError
from tests.a2a_server.serving import Bot, server
from tests.a2a_server.test_auth import SECRET, private_key, public_pem

PATHS = ["/.well-known/agent-card.json", "/.well-known/agent.json"]


async def card_of(url: str, path: str = PATHS[0], **headers: str) -> httpx.Response:
    async with httpx.AsyncClient() as http:
        return await http.get(url + path, headers=headers)


@pytest.mark.parametrize("path", PATHS)
async def test_the_card_is_public_and_declares_the_ways_in(tmp_path: Path, path: str) -> None:
    auth = {
        "jwt": {"algorithm": "HS256", "secret": SECRET},
        "api_key": {"header": "X-Key", "keys": {"anna": "key-a"}},
    }
    async with server(str(tmp_path / "s.db"), auth=auth, url="https://bank.example") as served:
        response = await card_of(served.url, path)
        card = response.json()

    assert response.status_code == 200
    assert set(card["securitySchemes"]) == {"bearer", "api_key"}
    assert len(card["securityRequirements"]) == 2
    assert card["capabilities"]["extendedAgentCard"]
    assert {
        (i["protocolBinding"], i["protocolVersion"], i["url"]) for i in card["supportedInterfaces"]
    } == {
        ("JSONRPC", "1.0", "https://bank.example/"),
        ("JSONRPC", "0.3", "https://bank.example/"),
        ("HTTP+JSON", "1.0", "https://bank.example"),
        ("HTTP+JSON", "0.3", "https://bank.example"),
    }


async def test_a_private_card_needs_credentials(tmp_path: Path) -> None:
    auth = {"api_key": {"keys": {"anna": "key-a"}}}
    store = str(tmp_path / "s.db")
    async with server(store, auth=auth, card_requires_auth=True) as served:
        assert (await card_of(served.url)).status_code == 401
        response = await card_of(served.url, **{"X-API-Key": "key-a"})
        assert response.status_code == 200
        assert response.headers["cache-control"].startswith("private")


async def test_the_extended_card_is_for_callers_that_proved_who_they_are(tmp_path: Path) -> None:
    auth = {"api_key": {"keys": {"anna": "key-a"}}}
    async with server(str(tmp_path / "s.db"), auth=auth) as served:
        refused = await card_of(served.url, "/extendedAgentCard", **{"A2A-Version": "1.0"})
        given = await card_of(
            served.url, "/extendedAgentCard", **{"A2A-Version": "1.0", "X-API-Key": "key-a"}
        )
        assert (refused.status_code, given.status_code) == (401, 200)
        assert given.json()["name"] == "bot"


async def test_the_card_changes_with_the_model_and_is_cached_until_then(tmp_path: Path) -> None:
    bot = Bot()
    async with server(str(tmp_path / "s.db"), bot) as served:
        first = await card_of(served.url)
        same = await card_of(served.url, **{"If-None-Match": first.headers["etag"]})
        bot.version, bot.skills = "model-2", (Skill(id="new", name="new", description="New."),)
        changed = await card_of(served.url, **{"If-None-Match": first.headers["etag"]})

    assert same.status_code == 304
    assert changed.status_code == 200
    assert changed.json()["version"] == "model-2"
    assert [skill["id"] for skill in changed.json()["skills"]] == ["new"]


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "PS256"])
async def test_the_card_is_signed_where_a_key_is_set(tmp_path: Path, algorithm: str) -> None:
    key = private_key(algorithm)
    kind = serialization.PrivateFormat.PKCS8
    (tmp_path / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, kind, serialization.NoEncryption())
    )
    signing = {
        "private_key_path": str(tmp_path / "key.pem"),
        "algorithm": algorithm,
        "key_id": "k1",
    }
    verify = create_signature_verifier(lambda kid, jku: public_pem(key), [algorithm])
    async with (
        server(str(tmp_path / "s.db"), card_signing=signing) as served,
        httpx.AsyncClient() as http,
    ):
        card = await A2ACardResolver(http, served.url).get_agent_card(signature_verifier=verify)
        assert len(card.signatures) == 1
        with pytest.raises(Exception, match=r".*"):
            await A2ACardResolver(http, served.url).get_agent_card(
                signature_verifier=create_signature_verifier(
                    lambda kid, jku: public_pem(private_key(algorithm)), [algorithm]
                )
            )


async def test_a_card_of_ones_own_is_served(tmp_path: Path) -> None:
    own = {
        "name": "mine",
        "description": "Mine.",
        "version": "9",
        "capabilities": {},
        "supportedInterfaces": [
            {"url": "http://a/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
    }
    (tmp_path / "card.json").write_text(json.dumps(own))
    path = str(tmp_path / "card.json")
    async with server(str(tmp_path / "s.db"), agent_card_path=path) as served:
        assert (await card_of(served.url)).json()["name"] == "mine"


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"agent_card_path": "nowhere.json"}, "agent_card_path"),
        ({"card_signing": {"private_key_path": "nowhere.pem", "key_id": "k"}}, "private_key_path"),
        ({"auth": {"jwt": {"public_key_path": "nowhere.pem"}}}, "public_key_path"),
        ({"encryption_key": "short"}, "encryption_key"),
    ],
)
async def test_a_file_or_key_that_does_not_fit_is_refused_at_the_start(
    tmp_path: Path, settings: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigurationError, match=key):
        async with server(str(tmp_path / "s.db"), **settings):
            pass
