"""Streams are followed on any replica, again after a break, and end when nothing more comes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from a2a.client import Client
from a2a.types import StreamResponse, SubscribeToTaskRequest
from a2a.utils.constants import TransportProtocol

from rasa_react_ext.a2a_server import Result
from rasa_react_ext.a2a_wire import State
from rasa_react_ext.store import Database, ServedTasks
from rasa_react_ext.store.served_schema import event as log
from tests.a2a_server.serving import Bot, client, rpc, server, state_of
from tests.a2a_server.test_cancel import begin, read
from tests.a2a_server.test_conversation import BINDINGS
from tests.a2a_server.test_once import body


async def follow(made: Client, task_id: str, seen: list[StreamResponse]) -> None:
    async for event in made.subscribe(SubscribeToTaskRequest(id=task_id)):
        seen.append(event)  # noqa: PERF401 - others read it while it grows


async def begin_to_follow(
    made: Client, task_id: str, seen: list[StreamResponse]
) -> asyncio.Task[None]:
    """Follow a task; returns when its first event has come."""
    following = asyncio.create_task(follow(made, task_id, seen))
    async with asyncio.timeout(10):
        while not seen:
            await asyncio.sleep(0.02)
    return following


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "on another replica"])
@pytest.mark.parametrize(("binding", "version"), BINDINGS)
async def test_a_running_task_is_followed_until_it_ends(
    store: str, binding: TransportProtocol, version: str, elsewhere: bool
) -> None:
    bot = Bot()
    async with server(store, bot) as one, server(store) as two:
        task_id = await begin(one, "wait a")
        seen: list[StreamResponse] = []
        async with client((two if elsewhere else one).url, binding, version=version) as made:
            following = await begin_to_follow(made, task_id, seen)
            bot.gates["a"].set()
            await asyncio.wait_for(following, 10)

        assert seen[0].task.id == task_id
        assert seen[-1].status_update.status.state == 3


async def test_what_a_running_turn_said_is_read_on_another_replica_and_followed_in_order(
    store: str,
) -> None:
    bot = Bot()
    async with server(store, bot) as one, server(store) as two, client(two.url) as made:
        bot.gates["more a"].set()
        task_id = await begin(one, "tell a")
        async with asyncio.timeout(5):
            while "Looking." not in str((await read(two, task_id))["status"]):
                await asyncio.sleep(0.02)
        assert "One moment." in str((await read(two, task_id))["history"][-1])

        seen: list[StreamResponse] = []
        following = await begin_to_follow(made, task_id, seen)
        bot.gates["a"].set()
        await asyncio.wait_for(following, 10)
        assert [event.WhichOneof("payload") for event in seen] == ["task", "status_update"]
        assert seen[-1].status_update.status.state == 3


async def test_a_turn_outlives_a_store_that_breaks_for_a_moment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    store = str(tmp_path / "store.db")
    async with server(store) as served:
        task_id = await begin(served, "tell a")
        await _renamed(store, log.name, "away")
        served.bot.gates["more a"].set()
        printed = ""
        async with asyncio.timeout(30):
            while "store_unreachable" not in printed + caplog.text:
                await asyncio.sleep(0.02)
                printed += capsys.readouterr().out
        await _renamed(store, "away", log.name)
        served.bot.gates["a"].set()
        async with asyncio.timeout(10):
            while state_of(await read(served, task_id)) != "completed":
                await asyncio.sleep(0.02)

        database = Database(store)
        stored = [seq for seq, _ in await ServedTasks(database).events(task_id, 0)]
        await database.aclose()
        assert stored == [2, 3, 4, 5], "working, two texts and the end, each once"


async def _renamed(store: str, old: str, new: str) -> None:
    database = Database(store)
    async with database.transaction() as connection:
        await connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))
    await database.aclose()


async def test_a_parked_task_is_followed_through_its_next_turn(store: str) -> None:
    async with server(store) as one, server(store, one.bot) as two, client(two.url) as made:
        _, asked = await rpc(one.url, "SendMessage", body("ask", "m1", contextId="c"))
        task_id = asked["result"]["task"]["id"]
        seen: list[StreamResponse] = []
        following = await begin_to_follow(made, task_id, seen)
        await rpc(one.url, "SendMessage", body("hello", "m2", taskId=task_id))
        await asyncio.wait_for(following, 10)

        states = [event.status_update.status.state for event in seen[1:]]
        assert states == [2, 2, 3]


@pytest.mark.parametrize(
    ("method", "version", "code"),
    [("SubscribeToTask", "1.0", -32004), ("tasks/resubscribe", None, -32004)],
)
async def test_a_task_that_has_ended_cannot_be_followed(
    store: str, method: str, version: str | None, code: int
) -> None:
    async with server(store) as served:
        _, done = await rpc(served.url, "SendMessage", body("hello", "m", contextId="c"))
        task_id = done["result"]["task"]["id"]
        _, refused = await rpc(served.url, method, {"id": task_id}, version=version)

        assert refused["error"]["code"] == code


async def test_a_repeated_stream_of_an_answered_message_brings_its_task(store: str) -> None:
    async with server(store) as served:
        await rpc(served.url, "SendMessage", body("hello", "m", contextId="c"))
        async with httpx.AsyncClient(timeout=20) as http:
            response = await http.post(
                served.url + "/message:stream",
                json=body("hello", "m", contextId="c"),
                headers={"A2A-Version": "1.0"},
            )

        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.text.count("data: ") == 1
        assert "TASK_STATE_COMPLETED" in response.text
        assert len(served.bot.runs) == 1


async def test_b94_a_stream_that_breaks_does_not_stop_its_turn(store: str) -> None:
    async with server(store) as served:
        params: dict[str, Any] = body("wait a", "m", contextId="c")
        async with (
            httpx.AsyncClient(timeout=20) as http,
            http.stream(
                "POST",
                served.url + "/message:stream",
                json=params,
                headers={"A2A-Version": "1.0"},
            ) as response,
        ):
            lines = response.aiter_lines()
            first = await anext(lines)
        assert "TASK_STATE_SUBMITTED" in first
        await asyncio.wait_for(served.bot.begun["wait a"].wait(), 10)
        served.bot.gates["a"].set()
        task_id = served.bot.runs[0].task_id
        async with asyncio.timeout(10):
            while state_of(await read(served, task_id)) != "completed":
                await asyncio.sleep(0.02)


async def test_background_work_is_working_and_finishes_the_task_on_any_replica(store: str) -> None:
    bot = Bot()
    async with server(store, bot) as one, server(store, bot) as two:
        _, sent = await rpc(one.url, "SendMessage", body("background", "m", contextId="c"))
        task_id = sent["result"]["task"]["id"]
        assert state_of(sent["result"]["task"]) == "working"

        done = Result(state=State.COMPLETED, text="Done after all.")
        assert not await two.service.report("a2a:anonymous:other", [], done)
        assert await two.service.report("a2a:anonymous:c", ["News."])
        told = await read(one, task_id)
        assert state_of(told) == "working"
        assert told["status"]["message"]["parts"][0]["text"] == "News."
        assert await two.service.report("a2a:anonymous:c", [], done)
        ended = await read(one, task_id)

        assert state_of(ended) == "completed"
        assert ended["status"]["message"]["parts"][0]["text"] == "Done after all."


async def test_a_stream_goes_on_with_the_background_work_of_its_turn(store: str) -> None:
    async with server(store) as served, client(served.url) as made:
        seen: list[StreamResponse] = []

        async def run() -> None:
            from tests.a2a_server.serving import send

            seen.extend(await send(made, "background", context_id="c"))

        running = asyncio.create_task(run())
        await asyncio.wait_for(served.bot.begun["background"].wait(), 10)
        task_id = served.bot.runs[0].task_id
        async with asyncio.timeout(10):
            while served.service._runner.live:
                await asyncio.sleep(0.02)
        assert state_of(await read(served, task_id)) == "working"

        done = Result(state=State.COMPLETED)
        assert await served.service.report("a2a:anonymous:c", [], done)
        await asyncio.wait_for(running, 10)
        assert seen[-1].status_update.status.state == 3
