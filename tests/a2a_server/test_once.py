"""A message is answered once, in order, whatever is sent again, at once or elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from google.protobuf.json_format import ParseDict

from tests.a2a_server.serving import Bot, rpc, server, state_of


def body(text: str, message_id: str, **more: Any) -> dict[str, Any]:
    said = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}], **more}
    return {"message": said}


async def test_b90_a_repeated_request_gets_the_same_task_and_no_second_turn(store: str) -> None:
    async with server(store) as served:
        first = await rpc(served.url, "SendMessage", body("hello", "m", contextId="c"))
        again = await rpc(served.url, "SendMessage", body("hello", "m", contextId="c"))

        assert first == again
        assert len(served.bot.runs) == 1


async def test_b90_a_repeated_request_without_a_context_gets_the_same_task(store: str) -> None:
    async with server(store) as served:
        first = await rpc(served.url, "SendMessage", body("hello", "m"))
        again = await rpc(served.url, "SendMessage", body("hello", "m"))

        assert first == again
        assert len(served.bot.runs) == 1


async def test_b90_a_message_in_flight_is_answered_with_409_on_any_replica(store: str) -> None:
    bot = Bot()
    async with server(store, bot) as one, server(store) as two:
        running = asyncio.create_task(
            rpc(one.url, "SendMessage", body("wait a", "m", contextId="c"))
        )
        await asyncio.wait_for(bot.begun["wait a"].wait(), 10)
        here = await rpc(one.url, "SendMessage", body("wait a", "m", contextId="c"))
        there = await rpc(two.url, "SendMessage", body("wait a", "m", contextId="c"))
        bot.gates["a"].set()
        status, first = await running

        assert status == 200
        for status, answer in (here, there):
            assert status == 409
            assert answer["error"]["code"] == -32602
        later = await rpc(two.url, "SendMessage", body("wait a", "m", contextId="c"))
        assert later == (200, first)
        assert len(bot.runs) == 1
        assert two.bot.runs == []


async def test_b90_the_same_id_for_another_message_is_a_conflict(store: str) -> None:
    async with server(store) as served:
        await rpc(served.url, "SendMessage", body("hello", "m", contextId="c"))
        status, answer = await rpc(served.url, "SendMessage", body("ask", "m", contextId="c"))

        assert (status, answer["error"]["code"]) == (409, -32602)
        assert "another message" in answer["error"]["message"]


async def test_b90_the_same_id_in_another_context_is_another_message(store: str) -> None:
    async with server(store) as served:
        _, first = await rpc(served.url, "SendMessage", body("hello", "m", contextId="c"))
        _, other = await rpc(served.url, "SendMessage", body("hello", "m", contextId="d"))

        assert first["result"]["task"]["id"] != other["result"]["task"]["id"]


async def test_b90_a_follow_up_is_answered_once_too(store: str) -> None:
    async with server(store) as served:
        _, asked = await rpc(served.url, "SendMessage", body("ask", "m1", contextId="c"))
        task_id = asked["result"]["task"]["id"]
        first = await rpc(served.url, "SendMessage", body("hello", "m2", taskId=task_id))
        again = await rpc(served.url, "SendMessage", body("hello", "m2", taskId=task_id))

        assert first == again
        assert state_of(first[1]["result"]["task"]) == "completed"
        assert len(served.bot.runs) == 2


async def test_messages_of_a_context_run_in_the_order_of_their_acceptance(store: str) -> None:
    bot = Bot()
    async with server(store, bot) as one, server(store, bot) as two:
        first = asyncio.create_task(
            rpc(one.url, "SendMessage", body("wait a", "m0", contextId="c"))
        )
        await asyncio.wait_for(bot.begun["wait a"].wait(), 10)
        others = []
        for n in range(1, 6):
            at = (one, two)[n % 2]
            quick = {"configuration": {"returnImmediately": True}}
            await rpc(
                at.url, "SendMessage", {**body(f"hello {n}", f"m{n}", contextId="c"), **quick}
            )
            others.append(f"hello {n}")
        bot.gates["a"].set()
        await first
        last = await rpc(one.url, "SendMessage", body("hello 6", "m6", contextId="c"))

        assert state_of(last[1]["result"]["task"]) == "completed"
        assert [turn.text for turn in bot.runs] == ["wait a", *others, "hello 6"]
        assert bot.most_at_once == 1


async def test_a_new_task_on_a_reserved_context_closes_the_one_that_waited(store: str) -> None:
    async with server(store) as served:
        _, asked = await rpc(served.url, "SendMessage", body("ask", "m1", contextId="c"))
        old = asked["result"]["task"]["id"]
        _, answer = await rpc(served.url, "SendMessage", body("hello", "m2", contextId="c"))
        _, read = await rpc(served.url, "GetTask", {"id": old})

        assert answer["result"]["task"]["id"] != old
        assert state_of(read["result"]) == "canceled"
        data = read["result"]["status"]["message"]["parts"][-1]["data"]
        assert data["continued_by"] == answer["result"]["task"]["id"]
        assert served.bot.left == []


async def test_a_message_to_a_task_that_has_ended_is_refused(store: str) -> None:
    async with server(store) as served:
        _, done = await rpc(served.url, "SendMessage", body("hello", "m1", contextId="c"))
        task_id = done["result"]["task"]["id"]
        status, answer = await rpc(served.url, "SendMessage", body("hello", "m2", taskId=task_id))

        assert (status, answer["error"]["code"]) == (200, -32004)


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_send_that_does_not_wait_returns_its_task_at_once(store: str, version: str) -> None:
    async with server(store) as served:
        if version == "1.0":
            params = {**body("wait a", "m"), "configuration": {"returnImmediately": True}}
            _, sent = await rpc(served.url, "SendMessage", params)
            task = sent["result"]["task"]
        else:
            said = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "wait a"}]}
            params = {"message": said, "configuration": {"blocking": False}}
            _, sent = await rpc(served.url, "message/send", params, version=None)
            task = sent["result"]
        assert state_of(task) == "submitted"
        served.bot.gates["a"].set()
        read = {}
        async with asyncio.timeout(10):
            while not read or state_of(read["result"]) != "completed":
                _, read = await rpc(served.url, "GetTask", {"id": task["id"]})


async def test_a_send_of_the_older_protocol_waits_over_every_binding_unless_told_otherwise(
    tmp_path: Path, free_port: Callable[[], int]
) -> None:
    port = free_port()
    async with (
        server(str(tmp_path / "s.db"), grpc={"port": port}) as served,
        httpx.AsyncClient(base_url=served.url) as http,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        rpc_said = {"role": "user", "messageId": "m1", "parts": [{"kind": "text", "text": "hello"}]}
        _, over_rpc = await rpc(served.url, "message/send", {"message": rpc_said}, version=None)
        said = {"role": "ROLE_USER", "messageId": "m2", "content": [{"text": "hello"}]}
        over_http = await http.post("/v1/message:send", json={"message": said})
        stub: Any = a2a_v0_3_pb2_grpc.A2AServiceStub(channel)
        request = ParseDict(
            {"message": {**said, "messageId": "m3"}}, a2a_v0_3_pb2.SendMessageRequest()
        )
        over_grpc = await stub.SendMessage(request)
        said = {**said, "messageId": "m4", "content": [{"text": "wait a"}]}
        told = {"message": said, "configuration": {"blocking": False}}
        at_once = await http.post("/v1/message:send", json=told)
        served.bot.gates["a"].set()

    assert state_of(over_rpc["result"]) == "completed"
    assert over_http.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert over_grpc.task.status.state == a2a_v0_3_pb2.TASK_STATE_COMPLETED
    assert at_once.json()["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


async def test_contexts_with_an_open_task_are_counted_and_limited(store: str) -> None:
    async with server(store, max_contexts=2) as served:
        for n in range(2):
            await rpc(served.url, "SendMessage", body("ask", f"m{n}", contextId=f"c{n}"))
        _, full = await rpc(served.url, "SendMessage", body("ask", "m3", contextId="c3"))
        _, known = await rpc(served.url, "SendMessage", body("hello", "m4", contextId="c0"))
        _, freed = await rpc(served.url, "SendMessage", body("ask", "m5", contextId="c3"))

        assert state_of(full["result"]["task"]) == "failed"
        data = full["result"]["task"]["status"]["message"]["parts"][-1]["data"]
        assert data["error_type"] == "context_limit_exceeded"
        assert state_of(known["result"]["task"]) == "completed"
        assert state_of(freed["result"]["task"]) == "input_required"


async def test_an_unanswered_task_is_canceled_only_where_a_time_is_set(store: str) -> None:
    async with server(store, input_required_ttl_seconds=1, lease_seconds=0.4) as served:
        _, asked = await rpc(served.url, "SendMessage", body("ask", "m", contextId="c"))
        task_id = asked["result"]["task"]["id"]
        upkeep = served.service._upkeep
        state = ""
        async with asyncio.timeout(20):
            while state != "canceled":
                await upkeep._end_stale()
                _, read = await rpc(served.url, "GetTask", {"id": task_id})
                state = state_of(read["result"])
