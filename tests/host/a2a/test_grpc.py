"""gRPC on a second port, with the host's app: the same dialogues, tasks and callers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from a2a.client import ClientCallContext
from a2a.client.errors import A2AClientError
from a2a.types import CancelTaskRequest, SendMessageRequest, StreamResponse

from rasa_react_ext.errors import ConfigurationError
from tests.a2a_client.certificate import certificate
from tests.a2a_server.serving import message, rpc, send, state_of, task_of
from tests.a2a_server.test_grpc import grpc_client
from tests.host.a2a.bank import served
from tests.host.project import Project

KEYS = {"api_key": {"keys": {"anna": "key-a", "bert": "key-b"}}}


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_dialogue_over_grpc_is_the_one_over_http(
    bank_project: Project, free_port: Callable[[], int], version: str
) -> None:
    port = free_port()
    async with (
        served(bank_project, {"grpc": {"port": port}}) as (url, app),
        grpc_client(port, version) as made,
    ):
        asked = await send(made, "start transfer_money", context_id="c")
        status = asked[-1].status_update.status
        assert (status.state, status.message.parts[0].text) == (6, "Who gets the money?")
        task_id = task_of(asked).id
        _, over_http = await rpc(url, "GetTask", {"id": task_id})
        assert state_of(over_http["result"]) == "input_required"
        await send(made, "set recipient Bert", context_id="c", task_id=task_id)
        done = await send(made, "set amount 10", context_id="c", task_id=task_id)
        final = done[-1].status_update.status
        assert final.state == 3
        assert "sent to Bert" in final.message.parts[0].text
        tracker = await app.ctx.agent.tracker_store.retrieve("a2a:anonymous:c")
        assert tracker.get_slot("recipient") == "Bert"
        parked = task_of(await send(made, "start transfer_money", context_id="d"))
        assert (await made.cancel_task(CancelTaskRequest(id=parked.id))).status.state == 5


async def test_an_encrypted_grpc_port_of_the_hosts_app_knows_its_callers(
    bank_project: Project, free_port: Callable[[], int], tmp_path: Path
) -> None:
    port = free_port()
    cert_file, key_file = certificate(tmp_path)
    entry: dict[str, Any] = {
        "auth": KEYS,
        "grpc": {
            "port": port,
            "url": f"bank.example:{port}",
            "certificate_path": cert_file,
            "private_key_path": key_file,
        },
    }
    async with (
        served(bank_project, entry) as (url, app),
        grpc_client(port, "1.0", authority=cert_file) as made,
        httpx.AsyncClient() as http,
    ):

        async def say(key: str) -> StreamResponse:
            request = SendMessageRequest(message=message("start show_balance", context_id="c"))
            context = ClientCallContext(service_parameters={"X-API-Key": key})
            return [event async for event in made.send_message(request, context=context)][-1]

        assert (await say("key-a")).status_update.status.state == 3
        with pytest.raises(A2AClientError) as refused:
            await say("key-x")
        cause = refused.value.__cause__
        assert isinstance(cause, grpc.aio.AioRpcError)
        assert cause.code() is grpc.StatusCode.UNAUTHENTICATED
        assert await app.ctx.agent.tracker_store.retrieve("a2a:anna:c") is not None
        card = (await http.get(url + "/.well-known/agent-card.json")).json()
    shown = {i["url"] for i in card["supportedInterfaces"] if i["protocolBinding"] == "GRPC"}
    assert shown == {f"bank.example:{port}"}


async def test_a_grpc_port_that_cannot_be_encrypted_stops_the_server(
    bank_project: Project, free_port: Callable[[], int], tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "none.pem")
    files = {"certificate_path": nowhere, "private_key_path": nowhere}
    with pytest.raises(ConfigurationError, match="grpc: private_key_path: nothing could be read"):
        async with served(bank_project, {"grpc": {"port": free_port(), **files}}):
            pass
