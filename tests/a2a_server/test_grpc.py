"""gRPC on a second port serves the same tasks to the same callers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageRequest,
    a2a_pb2_grpc,
)

from rasa_react_ext.errors import ConfigurationError
from tests.a2a_client.certificate import certificate
from tests.a2a_server.serving import message, rpc, send, server, state_of, task_of

KEYS = {"api_key": {"keys": {"anna": "key-a", "bert": "key-b"}}}


@asynccontextmanager
async def grpc_client(
    port: int, version: str, *, authority: str | None = None
) -> AsyncIterator[Client]:
    """The public client, encrypted where the PEM file of an authority is named."""
    address = f"127.0.0.1:{port}"
    card = AgentCard(name="bot", capabilities=AgentCapabilities(streaming=True))
    card.supported_interfaces.append(
        AgentInterface(url=address, protocol_binding="GRPC", protocol_version=version)
    )
    credentials = authority and _trusting(authority)

    def channel(url: str) -> grpc.aio.Channel:
        if not credentials:
            return grpc.aio.insecure_channel(url)
        return grpc.aio.secure_channel(url, credentials)

    config = ClientConfig(supported_protocol_bindings=["GRPC"], grpc_channel_factory=channel)
    async with ClientFactory(config).create(card) as made:
        yield made


def _trusting(cert_file: str) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(root_certificates=Path(cert_file).read_bytes())


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_conversation_over_grpc_is_the_same_task_over_http(
    store: str, free_port: Callable[[], int], version: str
) -> None:
    port = free_port()
    async with server(store, grpc={"port": port}) as served, grpc_client(port, version) as made:
        asked = task_of(await send(made, "ask", context_id="c"))
        events = await send(made, "pieces", task_id=asked.id, context_id="c")
        read = await made.get_task(GetTaskRequest(id=asked.id))
        _, over_http = await rpc(served.url, "GetTask", {"id": asked.id})

        assert read.status.state == 3
        assert state_of(over_http["result"]) == "completed"
        assert any(event.HasField("artifact_update") for event in events)
        parked = task_of(await send(made, "ask", context_id="d"))
        canceled = await made.cancel_task(CancelTaskRequest(id=parked.id))
        assert canceled.status.state == 5


@pytest.mark.parametrize("version", ["9.9", "0.3", "x"])
async def test_another_version_than_the_service_speaks_is_refused_over_grpc(
    free_port: Callable[[], int], tmp_path: Path, version: str
) -> None:
    port = free_port()
    async with (
        server(str(tmp_path / "s.db"), grpc={"port": port}) as served,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
        older: Any = a2a_v0_3_pb2_grpc.A2AServiceStub(channel)
        request = SendMessageRequest(message=message("hello", context_id="c"))
        calls = [lambda to: stub.SendMessage(request, metadata=to)]
        if version != "0.3":
            old = a2a_v0_3_pb2.GetTaskRequest(name="tasks/t")
            calls.append(lambda to: older.GetTask(old, metadata=to))
        for call in calls:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call([("a2a-version", version)])
            assert refused.value.code() is not grpc.StatusCode.NOT_FOUND
            assert "is not supported" in str(refused.value.details())
        assert served.bot.runs == []
        await stub.SendMessage(request, metadata=[("a2a-version", "1.0")])
        assert len(served.bot.runs) == 1


async def test_callers_over_grpc_prove_who_they_are(
    store: str, free_port: Callable[[], int]
) -> None:
    port = free_port()
    async with (
        server(store, grpc={"port": port}, auth=KEYS) as served,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub: Any = a2a_pb2_grpc.A2AServiceStub(channel)
        request = SendMessageRequest(message=message("ask", context_id="c"))
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.SendMessage(request)
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            [event async for event in stub.SendStreamingMessage(request)]
        assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        sent = await stub.SendMessage(request, metadata=[("x-api-key", "key-a")])
        assert [turn.caller for turn in served.bot.runs] == ["anna"]
        with pytest.raises(grpc.aio.AioRpcError) as unknown:
            await stub.GetTask(GetTaskRequest(id=sent.task.id), metadata=[("x-api-key", "key-b")])
        assert unknown.value.code() is grpc.StatusCode.NOT_FOUND


async def test_an_encrypted_port_answers_those_who_trust_it_and_nobody_in_plain_words(
    free_port: Callable[[], int], tmp_path: Path
) -> None:
    port = free_port()
    cert_file, key_file = certificate(tmp_path)
    stranger, _ = certificate(tmp_path, "stranger")
    settings = {"port": port, "certificate_path": cert_file, "private_key_path": key_file}
    async with server(str(tmp_path / "store.db"), grpc=settings) as served:
        async with grpc_client(port, "1.0", authority=cert_file) as made:
            events = await send(made, "hello", context_id="c")
            assert events[-1].status_update.status.state == 3
        for authority in (stranger, None):
            async with grpc_client(port, "1.0", authority=authority) as made:
                with pytest.raises(A2AClientError, match="failed to connect"):
                    await send(made, "hello", context_id="d")
    assert len(served.bot.runs) == 1


@pytest.mark.parametrize("wrong", ["missing", "no PEM", "another's"])
async def test_a_port_with_files_that_are_no_certificate_is_refused(
    free_port: Callable[[], int], tmp_path: Path, wrong: str
) -> None:
    files = {
        "missing": str(tmp_path / "none.pem"),
        "no PEM": __file__,
        "another's": certificate(tmp_path, "stranger")[0],
    }
    settings = {
        "port": free_port(),
        "certificate_path": files[wrong],
        "private_key_path": certificate(tmp_path)[1],
    }
    with pytest.raises(ConfigurationError, match="PEM file") as refused:
        async with server(str(tmp_path / "store.db"), grpc=settings):
            pass
    assert refused.value.key.endswith("grpc: certificate_path")
