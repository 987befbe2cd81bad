"""Connections: one pool per event loop, closed with its last user or with the loop."""

from __future__ import annotations

import asyncio
import gc
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import litellm
import pytest

from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat import closing_clients, pool
from tests.host.chat.conftest import model_of
from tests.host.chat.provider import Provider, asking, completion

pytestmark = pytest.mark.host


class Hello(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps(completion({"role": "assistant", "content": "hello"})).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that does not trust us hangs up."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A provider that outlives every event loop."""
    with Server(("127.0.0.1", 0), Hello) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(5)


def test_a_model_outlives_event_loops_and_leaves_nothing_open(server: Server) -> None:
    model = model_of(api_base=f"http://127.0.0.1:{server.server_port}/v1")

    async def talk() -> list[str]:
        return [(await model.ask(asking())).text for _ in range(2)]

    for _ in range(3):
        assert asyncio.run(talk()) == ["hello", "hello"]
        gc.collect()  # an open session or socket would warn, and warnings are errors
    assert not pool._open


def test_a_router_group_outlives_event_loops_and_leaves_nothing_open(server: Server) -> None:
    place = f"http://127.0.0.1:{server.server_port}/v1"
    model = model_of(router={"routing_strategy": "simple-shuffle"}, api_base=place)
    kept = litellm.in_memory_llm_clients_cache.cache_dict

    async def talk() -> set[str]:
        before = set(kept)
        async with closing_clients():
            assert (await model.ask(asking())).text == "hello"
            return set(kept) - before

    for _ in range(3):
        own = asyncio.run(talk())
        gc.collect()
        assert own
        assert not own & set(kept)


def test_a_loop_closed_without_a_shutdown_is_forgotten(server: Server) -> None:
    model = model_of(api_base=f"http://127.0.0.1:{server.server_port}/v1")

    async def talk() -> None:
        joined = await pool.join(model)
        assert not joined.session.closed

    loop = asyncio.new_event_loop()
    loop.run_until_complete(talk())
    loop.close()
    assert asyncio.run(model.ask(asking())).text == "hello"
    assert not pool._open


async def test_the_last_user_closes_the_pool(provider: Provider, group: Callable[..., Any]) -> None:
    first, second = group(), group(seed=1)
    for model in (first, second):
        await model.ask(asking())
    joined = await pool.join(first)
    await first.aclose()
    assert not joined.session.closed
    await second.ask(asking())
    await second.aclose()
    assert joined.session.closed
    await second.aclose()
    assert (await first.ask(asking())).text == "hello"


async def test_unreadable_certificates_are_named(
    group: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = group()
    monkeypatch.setenv("SSL_VERIFY", "/nowhere/bundle.pem")
    with pytest.raises(ModelError, match="SSL_VERIFY") as caught:
        await model.ask(asking())
    assert caught.value.kind == "refused_request"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1, with its key in the same file."""
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RASA_CA_BUNDLE", "{path}"),
        ("SSL_VERIFY", "{path}"),
        ("SSL_VERIFY", "False"),
        ("SSL_VERIFY", "true"),
        ("", ""),
    ],
)
def test_certificates_are_verified_as_the_environment_says(
    server: Server, certificate: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    model = model_of(api_base=f"https://127.0.0.1:{server.server_port}/v1")
    trusted = value not in {"", "true"}
    if name:
        monkeypatch.setenv(name, value.format(path=certificate))
    if trusted:
        assert asyncio.run(model.ask(asking())).text == "hello"
        return
    with pytest.raises(ModelError, match=r"(?i)certificate") as caught:
        asyncio.run(model.ask(asking()))
    assert caught.value.kind == "refused_request"
