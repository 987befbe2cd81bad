"""Which interface of a card is spoken to, and how the fields of the others are named."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from rasa_react_ext.a2a_wire import card_from_json
from rasa_react_ext.a2a_wire.interface import choose_interface

RPC, REST, GRPC = "JSONRPC", "HTTP+JSON", "GRPC"


def _read(*interfaces: tuple[str, str, str]) -> Any:
    written = [
        {"url": url, "protocolBinding": binding, "protocolVersion": version}
        for url, binding, version in interfaces
    ]
    return card_from_json(json.dumps({"name": "a", "supportedInterfaces": written}))


def _chosen(*interfaces: tuple[str, str, str]) -> str:
    return choose_interface(_read(*interfaces)).url


@pytest.mark.parametrize("binding", [RPC, REST, GRPC])
@pytest.mark.parametrize(
    "url",
    ["ftp:/x", "ftp://host/x", "http:///rpc", "http://:80/rpc", "/rpc", "http://x:no/", "a b"],
)
def test_an_address_that_cannot_be_called_is_refused_by_its_field(binding: str, url: str) -> None:
    field = f"supportedInterfaces[0].url: {url!r} is no address for {binding}; it should be "
    with pytest.raises(ValueError, match=re.escape(field)):
        _read((url, binding, "1.0"))


@pytest.mark.parametrize(
    "url", ["x:1", "x", "[::1]:50051", "dns:///x:1", "unix:/run/a", "grpcs://x", "https://x:1"]
)
def test_what_grpc_can_call_is_accepted(url: str) -> None:
    if url.startswith("dns"):
        with pytest.raises(ValueError, match="no address"):
            _read((url, GRPC, "1.0"))
    else:
        assert _chosen((url, GRPC, "1.0")) == url


@pytest.mark.parametrize("version", ["9.9", "2.0", "0.2.6", "0.30", "10", "new"])
def test_a_protocol_that_is_not_spoken_is_refused_by_its_field(version: str) -> None:
    field = f"supportedInterfaces[0].protocolVersion: {version!r} is not spoken here"
    with pytest.raises(ValueError, match=re.escape(field)):
        _read(("http://x", RPC, version))


@pytest.mark.parametrize("version", ["1.0", "1.0.0", "1.1", "1", "0.3", "0.3.0", ""])
def test_a_protocol_that_is_spoken_is_accepted(version: str) -> None:
    assert _chosen(("http://x", RPC, version)) == "http://x"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "ftp:/x"}, "url: 'ftp:/x'"),
        ({"protocolVersion": "9.9"}, "protocolVersion: '9.9'"),
        (
            {"url": "/", "additionalInterfaces": [{"url": "x", "transport": "HTTP+JSON"}]},
            "additionalInterfaces[0].url: 'x'",
        ),
    ],
)
def test_fields_of_an_older_card_have_the_names_they_have_there(
    change: dict[str, Any], field: str
) -> None:
    card = {"name": "a", "url": "http://x/rpc", "protocolVersion": "0.3.0", **change}
    with pytest.raises(ValueError, match=re.escape(field)):
        card_from_json(json.dumps(card))


@pytest.mark.parametrize(
    ("interfaces", "chosen"),
    [
        ([("http://a", REST, "1.0"), ("http://b", RPC, "1.0")], "http://a"),
        ([("http://a", RPC, "0.3"), ("http://b", RPC, "1.0")], "http://b"),
        ([("http://a", RPC, ""), ("http://b", RPC, "0.3")], "http://b"),
        ([("http://a", RPC, "2.0"), ("http://b", RPC, "1.0")], "http://b"),
        ([("ftp:/x", RPC, "1.0"), ("http://b", REST, "1.0")], "http://b"),
        ([("x", "CARRIER", "1.0"), ("http://b", REST, "1.0")], "http://b"),
    ],
)
def test_the_first_transport_that_can_be_spoken_is_chosen_in_its_newest_protocol(
    interfaces: list[tuple[str, str, str]], chosen: str
) -> None:
    assert _chosen(*interfaces) == chosen
