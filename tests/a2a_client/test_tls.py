"""Encrypted agents: who may vouch for them, and what happens where nobody does."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from rasa_react_ext.errors import ConnectionLostError, PeerError
from tests.a2a_client.certificate import certificate
from tests.a2a_client.grpc_remote import grpc_remote
from tests.a2a_client.remote import remote
from tests.a2a_client.scheme import Bearer
from tests.a2a_client.steps import connected, send, told


class Key(httpx.Auth):
    """Signs with a key in a header of its own."""

    async def async_auth_flow(
        self, request: httpx.Request
    ) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sign."""
        request.headers["X-API-Key"] = "key-a"
        yield request


SCHEMES = {
    "authorization": ("Bearer t0ken", lambda: Bearer("t0ken")),
    "x-api-key": ("key-a", Key),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Certificate and key of the agent."""
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def authority(files: tuple[str, str]) -> str:
    """The PEM text of the agent's authority."""
    return Path(files[0]).read_text()


@pytest.fixture
def stranger(tmp_path: Path) -> str:
    """The PEM text of an authority that knows no agent."""
    return Path(certificate(tmp_path, "stranger")[0]).read_text()


@pytest.mark.parametrize("header", SCHEMES)
@pytest.mark.parametrize("encrypted", [True, False])
async def test_grpc_calls_carry_credentials_in_their_metadata_encrypted_or_not(
    files: tuple[str, str], authority: str, header: str, encrypted: bool
) -> None:
    value, scheme = SCHEMES[header]
    with grpc_remote(
        certificate=files if encrypted else None, accepts=lambda given: given.get(header) == value
    ) as agent:
        trusted = authority if encrypted else None
        async with connected(agent, make_auth=scheme, authorities=trusted) as connection:
            assert told(await send(connection, "echo one")) == ["completed: one"]
        async with connected(
            agent, make_auth=lambda: Bearer("wrong"), authorities=trusted
        ) as connection:
            with pytest.raises(PeerError, match="HTTP 401") as refused:
                await send(connection, "echo two")
    assert "wrong" not in str(refused.value)
    assert agent.done == {"echo": 1}


@pytest.mark.parametrize("serving", [remote, grpc_remote])
async def test_an_agent_nobody_trusted_vouches_for_is_named_at_once_and_gets_no_credentials(
    files: tuple[str, str],
    stranger: str,
    serving: type,
) -> None:
    with serving(certificate=files) as agent:
        async with connected(
            agent, make_auth=lambda: Bearer("t0ken"), authorities=stranger
        ) as connection:
            began = time.monotonic()
            with pytest.raises(PeerError, match=r"not trusted.*ca_file") as refused:
                await connection.card(attempts=5)
            assert time.monotonic() - began < 3
    assert not isinstance(refused.value, ConnectionLostError)
    assert agent.headers == []


async def test_a_grpc_port_nobody_trusted_vouches_for_is_named_at_once(
    files: tuple[str, str], stranger: str, tmp_path: Path
) -> None:
    with grpc_remote(certificate=files) as agent:
        card = tmp_path / "card.json"
        card.write_text(json.dumps(agent.card_json()))
        async with connected(agent, card=str(card), authorities=stranger) as connection:
            began = time.monotonic()
            with pytest.raises(PeerError, match=r"not trusted.*ca_file") as refused:
                await send(connection, "echo one")
            assert time.monotonic() - began < 3
    assert not isinstance(refused.value, ConnectionLostError)
    assert agent.done.total() == 0


async def test_the_named_authority_holds_for_card_and_calls_over_https(
    files: tuple[str, str], authority: str
) -> None:
    with remote(certificate=files) as agent:
        async with connected(agent, authorities=authority) as connection:
            assert told(await send(connection, "echo one")) == ["completed: one"]


async def test_plain_words_to_an_encrypted_grpc_port_are_a_lost_connection(
    files: tuple[str, str], authority: str
) -> None:
    with grpc_remote(certificate=files) as agent:
        interfaces = agent.card_json()["supportedInterfaces"]
        plain = [{**one, "url": f"http://127.0.0.1:{agent.grpc_port}"} for one in interfaces]
        agent.card_changes = {"supportedInterfaces": plain}
        async with connected(agent, authorities=authority, max_retries=0) as connection:
            with pytest.raises(ConnectionLostError, match="address in its card"):
                await send(connection, "echo one")
