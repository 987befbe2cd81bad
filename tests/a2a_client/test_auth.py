"""Requests are signed on every transport; a refused token is renewed once, for all."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from rasa_react_ext.a2a_client.grpc_channel import target_of
from rasa_react_ext.errors import PeerError
from tests.a2a_client.grpc_remote import grpc_remote
from tests.a2a_client.remote import remote
from tests.a2a_client.scheme import Bearer, Token
from tests.a2a_client.steps import connected, send, told


@pytest.mark.parametrize("transport", ["JSONRPC", "HTTP+JSON", "GRPC"])
@pytest.mark.parametrize("streaming", [True, False])
async def test_every_transport_is_signed_and_a_refused_token_is_renewed_once(
    transport: str, streaming: bool
) -> None:
    token = Token("old", "new")
    serving = grpc_remote if transport == "GRPC" else remote
    settings = {} if transport == "GRPC" else {"binding": transport}
    with serving(streaming=streaming, token="old", **settings) as agent:
        async with connected(agent, make_auth=token) as connection:
            assert told(await send(connection, "echo one")) == ["completed: one"]
            agent.token = "new"
            assert told(await send(connection, "echo two")) == ["completed: two"]
    assert token.made == 2


@pytest.mark.parametrize("transport", ["JSONRPC", "GRPC"])
async def test_a_token_that_is_refused_again_is_a_failure_without_a_loop(transport: str) -> None:
    token = Token("wrong")
    serving = grpc_remote if transport == "GRPC" else remote
    with serving() as agent:
        async with connected(agent, make_auth=token) as connection:
            await connection.card()
            agent.token = "right"
            with pytest.raises(PeerError, match="refused the message") as caught:
                await send(connection, "echo one")
    assert "wrong" not in str(caught.value)
    assert token.made == 2
    assert agent.done.total() == 0


async def test_parallel_calls_share_one_renewal() -> None:
    token = Token("old", "new", "newer")
    with remote(token="old") as agent:
        async with connected(agent, make_auth=token) as connection:
            await connection.card()
            agent.token = "new"
            sent = [send(connection, f"echo {n}") for n in range(8)]
            assert all(told(one)[-1].startswith("completed") for one in await asyncio.gather(*sent))
    assert token.made == 2


async def test_a_scheme_that_fails_is_told_without_its_words() -> None:
    class Broken(Bearer):
        async def async_auth_flow(self, request: httpx.Request):  # type: ignore[no-untyped-def]
            raise ValueError("password is hunter2")
            yield request

    with remote() as agent:
        async with connected(agent, make_auth=lambda: Broken("x")) as connection:
            with pytest.raises(PeerError, match="cannot authenticate: ValueError") as caught:
                await connection.card()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://a.example", ("a.example:443", True)),
        ("grpcs://a.example:50051", ("a.example:50051", True)),
        ("http://a.example:50051", ("a.example:50051", False)),
        ("a.example:50051", ("a.example:50051", True)),
        ("127.0.0.1:50051", ("127.0.0.1:50051", False)),
        ("localhost:50051", ("localhost:50051", False)),
        ("[::1]:50051", ("[::1]:50051", False)),
        ("https://[::1]:50051", ("[::1]:50051", True)),
    ],
)
def test_grpc_is_encrypted_unless_it_stays_on_this_machine_or_the_card_says_otherwise(
    url: str, target: tuple[str, bool]
) -> None:
    assert target_of(url) == target


async def test_one_http_client_serves_all_conversations_and_is_closed_at_the_end() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            for number in range(5):
                await send(connection, f"echo {number}")
        # A stream that is over gives its connection back a moment later.
        assert len(agent.served.connections) < 5
