"""Tasks are cancelled wherever they run, time out, fail with their process, and stay ended."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from rasa_react_ext.store import Database, ServedTasks
from tests.a2a_server.serving import Bot, rpc, server, state_of
from tests.a2a_server.test_once import body


async def begin(served: Any, text: str, context: str = "c") -> str:
    params = {
        **body(text, f"m-{text}-{context}", contextId=context),
        "configuration": {"returnImmediately": True},
    }
    _, sent = await rpc(served.url, "SendMessage", params)
    await asyncio.wait_for(served.bot.begun[text].wait(), 10)
    task_id: str = sent["result"]["task"]["id"]
    return task_id


async def read(served: Any, task_id: str) -> dict[str, Any]:
    _, answer = await rpc(served.url, "GetTask", {"id": task_id})
    result: dict[str, Any] = answer["result"]
    return result


async def test_b95_a_running_task_is_canceled_within_a_second_from_any_replica(store: str) -> None:
    bot = Bot()
    async with server(store, bot) as one, server(store) as two:
        for at, text in ((one, "wait a"), (two, "wait b")):
            task_id = await begin(one, text, context=text)
            began = time.monotonic()
            status, canceled = await rpc(at.url, "CancelTask", {"id": task_id})
            took = time.monotonic() - began

            assert (status, state_of(canceled["result"])) == (200, "canceled")
            assert took < 1.2, took
            assert state_of(await read(one, task_id)) == "canceled"
        assert bot.left == ["a2a:anonymous:wait a", "a2a:anonymous:wait b"]
        assert two.bot.left == []


async def test_b95_a_cancel_that_is_only_in_the_store_reaches_a_task_that_waits(
    store: str,
) -> None:
    async with server(store) as served:
        _, sent = await rpc(served.url, "SendMessage", body("ask", "m", contextId="c"))
        task_id = sent["result"]["task"]["id"]
        database = Database(store)
        await ServedTasks(database).request_cancel(task_id)
        await database.aclose()
        async with asyncio.timeout(10):
            while state_of(await read(served, task_id)) != "canceled":
                await asyncio.sleep(0.05)
        assert served.bot.left == ["a2a:anonymous:c"]


async def test_b95_a_turn_that_heeds_nothing_is_stopped(store: str) -> None:
    async with server(store) as served:
        task_id = await begin(served, "hang")
        _, canceled = await rpc(served.url, "CancelTask", {"id": task_id})
        _, after = await rpc(served.url, "SendMessage", body("hello", "m2", contextId="c"))

        assert state_of(canceled["result"]) == "canceled"
        assert state_of(after["result"]["task"]) == "completed"
        assert served.bot.at_once["a2a:anonymous:c"] == 0


async def test_b95_two_cancels_at_once_do_no_harm(store: str) -> None:
    async with server(store) as one, server(store, one.bot) as two:
        for text in ("wait a", "ask"):
            task_id = await begin(one, text, context=text)
            if text == "ask":
                async with asyncio.timeout(10):
                    while state_of(await read(one, task_id)) != "input_required":
                        await asyncio.sleep(0.02)
            answers = await asyncio.gather(
                *(rpc(at.url, "CancelTask", {"id": task_id}) for at in (one, two, one))
            )
            outcomes = {
                state_of(answer["result"]) if "result" in answer else answer["error"]["code"]
                for _, answer in answers
            }
            assert outcomes <= {"canceled", -32002}
            assert state_of(await read(two, task_id)) == "canceled"


async def test_b95_a_task_that_has_ended_is_not_cancelable_and_an_unknown_one_not_found(
    store: str,
) -> None:
    async with server(store) as served:
        _, done = await rpc(served.url, "SendMessage", body("hello", "m", contextId="c"))
        task_id = done["result"]["task"]["id"]
        _, ended = await rpc(served.url, "CancelTask", {"id": task_id})
        _, unknown = await rpc(served.url, "CancelTask", {"id": "nothing"})

        assert ended["error"]["code"] == -32002
        assert unknown["error"]["code"] == -32001
        assert state_of(await read(served, task_id)) == "completed"


async def test_a_queued_message_is_canceled_without_touching_the_dialogue(store: str) -> None:
    async with server(store) as served:
        await begin(served, "wait a")
        params = {
            **body("hello", "m2", contextId="c"),
            "configuration": {"returnImmediately": True},
        }
        _, queued = await rpc(served.url, "SendMessage", params)
        _, canceled = await rpc(served.url, "CancelTask", {"id": queued["result"]["task"]["id"]})
        served.bot.gates["a"].set()

        assert state_of(canceled["result"]) == "canceled"
        assert served.bot.left == []
        assert [turn.text for turn in served.bot.runs] == ["wait a"]


async def test_b99_a_turn_that_breaks_fails_its_task_with_a_neutral_message(store: str) -> None:
    async with server(store) as served:
        _, failed = await rpc(served.url, "SendMessage", body("boom", "m", contextId="c"))
        _, after = await rpc(served.url, "SendMessage", body("hello", "m2", contextId="c"))

        assert state_of(failed["result"]["task"]) == "failed"
        assert "secret" not in str(failed)
        assert state_of(after["result"]["task"]) == "completed"


async def test_b99_a_turn_that_takes_too_long_is_canceled(store: str) -> None:
    async with server(store, task_timeout_seconds=1) as served:
        _, timed_out = await rpc(served.url, "SendMessage", body("wait a", "m", contextId="c"))
        _, after = await rpc(served.url, "SendMessage", body("hello", "m2", contextId="c"))

        task = timed_out["result"]["task"]
        assert state_of(task) == "canceled"
        assert task["status"]["message"]["parts"][-1]["data"]["reason"] == "task_timeout"
        assert served.bot.left == ["a2a:anonymous:c"]
        assert state_of(after["result"]["task"]) == "completed"


async def test_b99_the_task_of_a_silent_process_fails_within_its_lease(store: str) -> None:
    bot = Bot()
    async with server(store, bot, lease_seconds=1.5) as dying, server(store) as other:
        task_id = await begin(dying, "wait a")
        # A process that is stopped dead neither renews leases nor ends turns.
        runner = dying.service._runner
        for task in asyncio.all_tasks():
            if task.get_name() == f"a2a leases of {runner.name}":
                task.cancel()
        began = time.monotonic()
        async with asyncio.timeout(10):
            while state_of(await read(other, task_id)) != "failed":
                await asyncio.sleep(0.05)
        took = time.monotonic() - began
        bot.gates["a"].set()
        _, after = await rpc(other.url, "SendMessage", body("hello", "m2", contextId="c"))

        assert took < 3.5
        assert state_of(after["result"]["task"]) == "completed"
        async with asyncio.timeout(10):
            while runner.live:
                await asyncio.sleep(0.02)
        final = await read(other, task_id)
        assert state_of(final) == "failed"
        assert final["status"]["message"]["parts"][-1]["data"]["error_type"] == "worker_lost"


async def test_b99_a_stopping_server_ends_its_tasks(store: str) -> None:
    async with server(store) as other:
        async with server(store, grace=0.1) as stopping:
            task_id = await begin(stopping, "wait a")
        ended = await read(other, task_id)

        assert state_of(ended) == "failed"
        assert ended["status"]["message"]["parts"][-1]["data"]["error_type"] == "server_stopped"


async def test_b94_a_client_that_goes_away_does_not_stop_its_turn(store: str) -> None:
    async with server(store) as served:
        leaving = asyncio.create_task(
            rpc(served.url, "SendMessage", body("wait a", "m", contextId="c"))
        )
        await asyncio.wait_for(served.bot.begun["wait a"].wait(), 10)
        leaving.cancel()
        await asyncio.wait([leaving])
        served.bot.gates["a"].set()
        async with asyncio.timeout(10):
            while True:
                _, listed = await rpc(served.url, "ListTasks", {})
                tasks = listed["result"]["tasks"]
                if tasks and state_of(tasks[0]) == "completed":
                    break
        _, again = await rpc(served.url, "SendMessage", body("wait a", "m", contextId="c"))
        assert again["result"]["task"]["id"] == tasks[0]["id"]
        assert len(served.bot.runs) == 1


async def test_b99_a_process_that_lost_its_lease_answers_with_what_became_of_the_task(
    store: str,
) -> None:
    async with server(store, lease_seconds=1.0) as slow:
        _, asked = await rpc(slow.url, "SendMessage", body("ask", "m1", contextId="c"))
        task_id = asked["result"]["task"]["id"]
        runner = slow.service._runner
        renew = slow.service._turns.renew

        async def silent(*_: Any) -> None:
            """The process is alive, but its leases are not renewed."""

        slow.service._turns.renew = silent  # type: ignore[method-assign]
        _, answer = await asyncio.wait_for(
            rpc(slow.url, "SendMessage", body("wait a", "m2", taskId=task_id)), 20
        )
        slow.service._turns.renew = renew  # type: ignore[method-assign]

        assert state_of(answer["result"]["task"]) == "failed"
        assert runner.counts["lost"] == 1
        _, after = await rpc(slow.url, "SendMessage", body("hello", "m3", contextId="c"))
        assert state_of(after["result"]["task"]) == "completed"
