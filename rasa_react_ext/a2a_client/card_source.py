"""Reads an agent's card from a file or an address, wherever agents put it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

import anyio
import httpx

from rasa_react_ext.a2a_client.fault import is_untrusted, untrusted_error
from rasa_react_ext.a2a_client.signature import check_signature
from rasa_react_ext.a2a_client.spec import AgentSpec
from rasa_react_ext.a2a_wire import AgentCard, card_from_json
from rasa_react_ext.errors import ConfigurationError, ConnectionLostError, PeerError

__all__ = ["card_addresses", "is_address", "read_card"]

MAX_CARD_BYTES = 1_000_000
_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_PAUSES = (0.5, 1.0, 2.0, 4.0, 5.0)


def is_address(card: str) -> bool:
    """Whether a card is named by an address, not by a path."""
    return card.startswith(("http://", "https://"))


def card_addresses(card: str) -> list[str]:
    """Where a card may be: at a full address as given, else also at the known places.

    A base address is looked under itself, then under its origin, the newer name first.
    """
    parts = urlsplit(card)
    if parts.path.endswith(".json"):
        return [card]
    prefix = parts.path.rstrip("/")
    places = [f"{prefix}{path}" for path in _PATHS]
    places += [path for path in _PATHS if prefix]
    found = [urlunsplit((parts.scheme, parts.netloc, place, parts.query, "")) for place in places]
    return [card, *found] if prefix or parts.query else [*found, card]


async def read_card(spec: AgentSpec, client: httpx.AsyncClient, *, attempts: int) -> AgentCard:
    """Read and check an agent's card.

    Args:
        spec: The agent.
        client: Asks for it, with the agent's credentials.
        attempts: How often an agent that cannot be reached is tried.

    Raises:
        ConfigurationError: There is no such file, or the card in it is unusable.
        ConnectionLostError: The agent could not be reached.
        PeerError: It gave no usable card; the text lists what was tried.
    """
    if not is_address(spec.card):
        return await _from_file(spec)
    for attempt in range(attempts):
        try:
            return await _from_network(spec, client)
        except ConnectionLostError:
            if attempt + 1 == attempts:
                raise
            await asyncio.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
    raise AssertionError("attempts is at least 1")


async def _from_file(spec: AgentSpec) -> AgentCard:
    problem = f"there is no such file: {spec.card!r}."
    try:
        text = await anyio.Path(spec.card).read_bytes()
        return _checked(spec, text)
    except OSError as error:
        if await anyio.Path(spec.card).exists():
            problem = f"the file {spec.card!r} cannot be read ({error.strerror})."
        cause: Exception = error
    except ValueError as error:
        problem, cause = f"the card in {spec.card} is unusable: {error}.", error
    raise ConfigurationError(
        file=f"sub_agents: {spec.name}: config.yml",
        key="configuration: agent_card",
        problem=problem,
        fix="Correct the card, or give the path of the agent's card from the folder the assistant "
        "is started in, or its http(s) address.",
    ) from cause


async def _from_network(spec: AgentSpec, client: httpx.AsyncClient) -> AgentCard:
    tried: list[str] = []
    for address in card_addresses(spec.card):
        status, text = await _get(spec, client, address)
        if status == 200:
            try:
                return _checked(spec, text)
            except ValueError as error:
                tried.append(f"{_shown(address)}: the card is unusable: {error}")
        else:
            tried.append(f"{_shown(address)}: HTTP {status}")
        if status in {401, 403}:
            break
        if status >= 500:
            raise ConnectionLostError(spec.name, _no_card(spec, tried))
    raise PeerError(spec.name, _no_card(spec, tried))


async def _get(spec: AgentSpec, client: httpx.AsyncClient, address: str) -> tuple[int, bytes]:
    body = bytearray()
    try:
        async with asyncio.timeout(spec.timeout_seconds):
            async with client.stream("GET", address, headers=_HEADERS) as response:
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > MAX_CARD_BYTES:
                        raise PeerError(
                            spec.name,
                            f"The card at {_shown(address)} is larger than {MAX_CARD_BYTES} bytes.",
                        )
                return response.status_code, bytes(body)
    except (httpx.HTTPError, TimeoutError) as error:
        if is_untrusted(f"{error}"):
            raise untrusted_error(spec.name) from error
        raise ConnectionLostError(
            spec.name,
            f"Agent {spec.name!r} cannot be reached at {_shown(address)} "
            f"({type(error).__name__}). Check that it runs, and agent_card in its config.yml.",
        ) from error


_HEADERS = {"Accept": "application/json"}


def _checked(spec: AgentSpec, text: bytes) -> AgentCard:
    if len(text) > MAX_CARD_BYTES:
        raise ValueError(f"it is larger than {MAX_CARD_BYTES} bytes")
    card = card_from_json(text)
    if spec.card_key is not None:
        check_signature(card, spec.card_key, spec.card_algorithms)
    return card


def _no_card(spec: AgentSpec, tried: Sequence[str]) -> str:
    return (
        f"Agent {spec.name!r} gave no usable card. Tried {'; '.join(tried)}. "
        "Check agent_card in its config.yml, and the card itself."
    )


def _shown(address: str) -> str:
    """An address without its query, which may hold a key."""
    return address.partition("?")[0]
