"""Encrypted connections: authorities, unchecked ones, client certificates; proxies."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rasa_react_ext.mcp_pool import Pool, PooledTools, ServerSpec
from tests.a2a_client.certificate import certificate as new_certificate
from tests.mcp_pool.mcp_server import Served, serving, shop


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Files of a certificate for the loopback address that is its own authority, and its key."""
    return new_certificate(tmp_path_factory.mktemp("tls"), "test")


@pytest.fixture
def server(certificate: tuple[str, str], done: Counter[str]) -> Iterator[Served]:
    """A server that wants to see the client's certificate, if there is one."""
    cert_file, key_file = certificate
    with serving(
        lambda: shop(done).streamable_http_app(),
        ssl_certfile=cert_file,
        ssl_keyfile=key_file,
        ssl_ca_certs=cert_file,
        ssl_cert_reqs=ssl.CERT_OPTIONAL,
    ) as served:
        yield served


async def test_a_trusted_authority_is_enough(
    server: Served, pool: Pool, certificate: tuple[str, str]
) -> None:
    spec = ServerSpec(name="shop", url=server.url, ca_file=certificate[0])
    assert await PooledTools(pool, spec).tools()


async def test_an_unknown_authority_is_refused_and_named(server: Served, pool: Pool) -> None:
    tools = PooledTools(pool, ServerSpec(name="shop", url=server.url, max_retries=0))
    assert await tools.tools() == ()
    assert "CERTIFICATE_VERIFY_FAILED" in tools.missing()[0]


async def test_checking_may_be_switched_off(server: Served, pool: Pool) -> None:
    assert await PooledTools(pool, ServerSpec(name="shop", url=server.url, verify=False)).tools()


async def test_the_client_may_show_a_certificate(
    server: Served, pool: Pool, certificate: tuple[str, str]
) -> None:
    cert_file, key_file = certificate
    spec = ServerSpec(
        name="shop",
        url=server.url,
        ca_file=cert_file,
        client_cert_file=cert_file,
        client_key_file=key_file,
    )
    assert await PooledTools(pool, spec).tools()


async def test_a_missing_file_is_named(server: Served, pool: Pool, tmp_path: Path) -> None:
    spec = ServerSpec(
        name="shop", url=server.url, ca_file=str(tmp_path / "none.pem"), max_retries=0
    )
    tools = PooledTools(pool, spec)
    assert await tools.tools() == ()
    assert "No such file" in tools.missing()[0]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY"])
async def test_a_proxy_of_the_environment_is_used(
    pool: Pool, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(proxy, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        monkeypatch.setenv(variable, f"http://127.0.0.1:{port}")
        tools = PooledTools(pool, ServerSpec(name="s", url="http://s.invalid/mcp", max_retries=0))
        assert await tools.tools() == ()
        assert asked == [b"POST http://s.invalid/mcp HTTP/1.1\r\n"]
        await pool.aclose()
