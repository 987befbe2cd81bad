"""Cards are found where agents put them, checked, and kept fresh."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import MessageToDict

from rasa_react_ext.a2a_client.card_source import MAX_CARD_BYTES, card_addresses
from rasa_react_ext.errors import ConfigurationError, ConnectionLostError, PeerError
from tests.a2a_client.remote import Remote, remote
from tests.a2a_client.scheme import Token
from tests.a2a_client.steps import connected, send, told

PATHS = (
    "/.well-known/agent-card.json",
    "/.well-known/agent.json",
    "/tenant/a/.well-known/agent-card.json",
    "/cards",
)


@pytest.mark.parametrize(
    ("path", "given"),
    [
        (PATHS[0], ""),
        (PATHS[0], "/"),
        (PATHS[1], ""),
        (PATHS[2], "/tenant/a"),
        (PATHS[2], "/tenant/a/"),
        (PATHS[0], "/tenant/a"),
        (PATHS[3], "/cards?agent=7&key=x"),
        (PATHS[1], PATHS[1]),
    ],
)
async def test_b85_a_card_is_found_at_a_full_address_or_under_a_base_address(
    path: str, given: str
) -> None:
    with remote(card_paths=(path,)) as agent:
        async with connected(agent, card=agent.url + given) as connection:
            assert (await connection.card()).name == "remote"


def test_b85_a_query_string_is_kept() -> None:
    assert card_addresses("http://x/a?k=1")[0] == "http://x/a?k=1"
    assert all(address.endswith("?k=1") for address in card_addresses("http://x/a?k=1"))


async def test_b85_the_message_lists_what_was_tried_without_the_query() -> None:
    with remote(card_paths=()) as agent:
        async with connected(agent, card=f"{agent.url}/a?key=secret") as connection:
            with pytest.raises(PeerError, match=r"/a/.well-known/agent\.json: HTTP 404") as caught:
                await connection.card()
    assert "secret" not in str(caught.value)


async def test_b85_the_card_is_asked_for_with_credentials() -> None:
    with remote(token="t") as agent:
        async with connected(agent, make_auth=Token("t")) as connection:
            assert (await connection.card()).name == "remote"


async def test_b85_calls_go_to_the_address_in_the_card() -> None:
    with remote() as agent, remote() as other:
        agent.card_changes = {
            "supportedInterfaces": MessageToDict(other.card())["supportedInterfaces"]
        }
        async with connected(agent) as connection:
            assert told(await send(connection, "echo hello")) == ["completed: hello"]
    assert (agent.done.total(), other.done.total()) == (0, 1)


@pytest.mark.parametrize("older", [False, True])
async def test_a_card_is_read_from_a_file(tmp_path: Path, older: bool) -> None:
    with remote(version="0.3" if older else "1.0") as agent:
        card: dict[str, Any] = agent.card_json()
        if older:
            card |= {"url": f"{agent.url}/rpc", "protocolVersion": "0.3.0"}
            del card["supportedInterfaces"]
        file = tmp_path / "card.json"
        file.write_text(json.dumps(card))
        async with connected(agent, card=str(file)) as connection:
            assert told(await send(connection, "echo hello")) == ["completed: hello"]


@pytest.mark.parametrize(
    ("content", "problem"), [(None, "no such file"), ("{", "no JSON"), ("[]", "a card is")]
)
async def test_an_unusable_card_file_is_named_with_a_fix(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    file = tmp_path / "card.json"
    if content is not None:
        file.write_text(content)
    with remote() as agent:
        async with connected(agent, card=str(file)) as connection:
            with pytest.raises(ConfigurationError, match=problem) as caught:
                await connection.card()
    assert caught.value.key == "configuration: agent_card"


@pytest.mark.parametrize(
    ("interface", "field"),
    [
        ({"url": "ftp:/x"}, "supportedInterfaces[0].url: 'ftp:/x'"),
        ({"protocolVersion": "9.9"}, "supportedInterfaces[0].protocolVersion: '9.9'"),
    ],
)
async def test_an_interface_nobody_can_speak_to_is_named_with_the_address_of_the_card(
    interface: dict[str, str], field: str
) -> None:
    with remote() as agent:
        agent.card_changes = {"supportedInterfaces": [_interface(agent.url) | interface]}
        async with connected(agent) as connection:
            with pytest.raises(PeerError, match=re.escape(field)) as caught:
                await connection.check()
    assert f"{agent.card_url}: the card is unusable: " in str(caught.value)


async def test_an_interface_nobody_can_speak_to_is_passed_over_for_another() -> None:
    with remote() as agent:
        good = MessageToDict(agent.card())["supportedInterfaces"]
        bad = [_interface("ftp:/x"), _interface(agent.url) | {"protocolVersion": "9.9"}]
        agent.card_changes = {"supportedInterfaces": [*bad, *good]}
        async with connected(agent) as connection:
            assert told(await send(connection, "echo hello")) == ["completed: hello"]


async def test_a_card_that_is_too_large_is_refused() -> None:
    with remote(card_changes={"description": "x" * MAX_CARD_BYTES}) as agent:
        async with connected(agent) as connection:
            with pytest.raises(PeerError, match="larger than"):
                await connection.card()


async def test_an_agent_that_is_down_is_asked_for_its_card_again() -> None:
    with remote() as agent:
        agent.served.stop()
        async with connected(agent) as connection:
            with pytest.raises(ConnectionLostError, match="cannot be reached"):
                await connection.card(attempts=2)
            agent.served.start()
            assert (await connection.card(attempts=1)).name == "remote"


async def test_a_stale_card_is_read_again_and_an_old_one_serves_while_that_fails() -> None:
    with remote() as agent:
        async with connected(agent, card_seconds=0) as connection:
            await connection.card()
            agent.card_changes = {"description": "new"}
            assert (await connection.card()).description == "new"
            agent.card_paths = ()
            assert (await connection.card()).description == "new"


async def test_an_agent_that_moved_is_found_by_its_new_card() -> None:
    with remote() as agent:
        agent.card_changes = {"supportedInterfaces": [_interface(f"{agent.url}/old")]}
        async with connected(agent) as connection:
            await connection.card()
            agent.card_changes = {}
            assert told(await send(connection, "echo hello")) == ["completed: hello"]


async def test_a_signed_card_is_accepted_and_any_other_refused() -> None:
    key, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    with remote() as agent:
        card = _signed(agent, key)
        agent.card_changes = MessageToDict(card)
        async with connected(agent, card_key=_public(key)) as connection:
            assert (await connection.card()).name == "remote"
        async with connected(agent, card_key=_public(other)) as connection:
            with pytest.raises(PeerError, match="signature is not valid"):
                await connection.card()
        agent.card_changes["description"] = "forged"
        async with connected(agent, card_key=_public(key)) as connection:
            with pytest.raises(PeerError, match="signature is not valid"):
                await connection.card()
        agent.card_changes = {"signatures": [{"protected": "!", "signature": "x"}]}
        async with connected(agent, card_key=_public(key)) as connection:
            with pytest.raises(PeerError, match="signature is not valid"):
                await connection.card()


async def test_b89_a_check_opens_no_task() -> None:
    with remote(token="t") as agent:
        async with connected(agent, make_auth=Token("t")) as connection:
            for _ in range(3):
                await connection.check()
        async with connected(agent, make_auth=Token("wrong")) as connection:
            with pytest.raises(PeerError, match="HTTP 401"):
                await connection.check()
    assert agent.done.total() == 0


async def test_b89_a_check_shows_credentials_where_a_card_is_for_known_clients() -> None:
    with remote(token="t") as agent:
        agent.card_changes = {"capabilities": {"extendedAgentCard": True}}
        async with connected(agent, make_auth=Token("t")) as connection:
            await connection.check()
    assert agent.served.seen["GetExtendedAgentCard"] == 1
    assert agent.done.total() == 0


def _interface(url: str) -> dict[str, str]:
    return {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}


def _signed(agent: Remote, key: ec.EllipticCurvePrivateKey) -> AgentCard:
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    header: Any = {"kid": "k", "alg": "ES256", "jku": None, "typ": "JOSE"}
    return create_agent_card_signer(pem, header)(parse_agent_card(agent.card_json()))


def _public(key: ec.EllipticCurvePrivateKey) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )
