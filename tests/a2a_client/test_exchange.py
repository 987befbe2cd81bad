"""A message goes out once, and its outcome comes back whatever happens on the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from rasa_react_ext.errors import (
    ConnectionLostError,
    LimitError,
    OutcomeUnknownError,
    PeerError,
)
from tests.a2a_client.grpc_remote import grpc_remote
from tests.a2a_client.remote import remote
from tests.a2a_client.steps import accepted, connected, send, told

ORDERS = [
    ("echo hello", ["completed: hello"]),
    ("stream", ["… One moment.", "completed: Hello, world!"]),
    ("ask", ["… Let me see.", "input-required: Which currency?"]),
    ("auth", ["auth-required: Sign in at https://example.com/login"]),
    ("fail", ["failed: The card was declined."]),
    ("reject", ["rejected: Not my department."]),
    ("message", ["message: Hi there."]),
]


@pytest.mark.parametrize(("order", "expected"), ORDERS)
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_every_outcome_comes_back_over_http(
    order: str, expected: list[str], binding: str, version: str
) -> None:
    with remote(binding=binding, version=version) as agent:
        async with connected(agent) as connection:
            assert told(await send(connection, order)) == expected
    assert agent.done.total() == 1


@pytest.mark.parametrize(("order", "expected"), ORDERS)
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_every_outcome_comes_back_over_grpc(
    order: str, expected: list[str], version: str
) -> None:
    with grpc_remote(version=version) as agent:
        async with connected(agent) as connection:
            assert told(await send(connection, order)) == expected


@pytest.mark.parametrize(("order", "expected"), ORDERS)
async def test_every_outcome_comes_back_without_streaming(order: str, expected: list[str]) -> None:
    with remote(streaming=False) as agent:
        async with connected(agent) as connection:
            # Words on the way are only seen by those who listen.
            assert told(await send(connection, order))[-1] == expected[-1]
    assert agent.done.total() == 1


async def test_b78_a_reply_reaches_the_waiting_task() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            ids = accepted(await send(connection, "ask", context="c"))
            reply = await send(connection, "CAD", context=ids.context_id, task=ids.task_id)
    assert ids.context_id == "c"
    assert told(reply) == ["completed: Got CAD."]
    assert accepted(reply).task_id == ids.task_id


async def test_b79_a_message_to_a_finished_task_begins_a_new_one_once() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            ids = accepted(await send(connection, "echo one", context="c"))
            again = await send(connection, "echo two", context="c", task=ids.task_id)
    assert told(again) == ["completed: two"]
    assert accepted(again).task_id != ids.task_id


async def test_b79_a_message_to_a_forgotten_task_begins_a_new_one_once() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            again = await send(connection, "echo two", context="c", task="never-seen")
    assert told(again) == ["completed: two"]


@pytest.mark.parametrize("cut_after", [1, 2, 3, 4])
async def test_a_broken_stream_loses_and_doubles_nothing(cut_after: int) -> None:
    with remote(cut_after=cut_after) as agent:
        async with connected(agent) as connection:
            updates = told(await send(connection, "stream"))
    assert updates[-1] == "completed: Hello, world!"
    assert updates.count("… One moment.") <= 1
    assert agent.done == {"stream": 1}


async def test_a_stream_broken_before_its_first_event_is_found_again_by_its_message() -> None:
    with remote(cut_after=0) as agent:
        async with connected(agent) as connection:
            assert told(await send(connection, "echo hello"))[-1] == "completed: hello"
    assert agent.done == {"echo": 1}


async def test_a_message_whose_fate_nobody_tells_is_not_sent_again() -> None:
    with remote(cut_after=0, fail_next={"ListTasks": [501] * 5}) as agent:
        async with connected(agent) as connection:
            with pytest.raises(OutcomeUnknownError, match="not sent again"):
                await send(connection, "echo hello")
    assert agent.done == {"echo": 1}


async def test_an_agent_that_never_says_anything_costs_no_more_than_its_timeouts() -> None:
    with remote(silent=True) as agent:
        async with connected(agent, timeout_seconds=0.3) as connection:
            started = time.monotonic()
            with pytest.raises(OutcomeUnknownError, match="not sent again"):
                await send(connection, "echo hello", seconds=60)
            assert time.monotonic() - started < 5
    assert len(agent.sent) == 1


async def test_an_agent_that_dies_with_a_task_is_named_as_what_it_is() -> None:
    with remote(cut_after=1) as agent:
        async with connected(agent) as connection:
            sending = asyncio.create_task(send(connection, "wait", poll=1))
            await _until(lambda: agent.done["wait"] == 1)
            agent.served.stop()
            with pytest.raises(LimitError, match="cannot be asked what became of it"):
                await sending


async def test_a_silent_stream_is_asked_about_and_listened_to_again() -> None:
    with remote(silent_after=2) as agent:
        async with connected(agent, timeout_seconds=0.3) as connection:
            sending = asyncio.create_task(send(connection, "wait"))
            await _until(lambda: agent.served.seen["SubscribeToTask"] > 0)
            agent.release()
            updates = told(await sending)
    assert updates == ["… Working on it.", "completed: At last."]
    assert agent.done == {"wait": 1}


async def test_b84_errors_while_asking_are_tried_again() -> None:
    with remote(cut_after=1, fail_next={"GetTask": [503, 503, 500]}) as agent:
        async with connected(agent) as connection:
            assert told(await send(connection, "echo hello"))[-1] == "completed: hello"
    assert agent.served.seen["GetTask"] >= 4


async def test_a_remote_that_restarts_and_forgets_is_a_defined_failure() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            sending = asyncio.create_task(send(connection, "wait"))
            await _until(lambda: agent.done["wait"] == 1 and agent.waiting is not None)
            agent.served.restart()
            with pytest.raises(PeerError, match="no longer knows task"):
                await sending
    assert agent.done["wait"] == 1


async def test_b83_one_deadline_covers_stream_and_polling() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            started = time.monotonic()
            with pytest.raises(LimitError):
                await send(connection, "wait", seconds=0.6)
            assert time.monotonic() - started < 1.5


async def test_polling_gives_up_after_its_own_time() -> None:
    with remote(cut_after=1) as agent:
        async with connected(agent, timeout_seconds=0.2) as connection:
            with pytest.raises(LimitError):
                await send(connection, "wait", poll=0.3)


async def test_cancellation_ends_a_wait_within_a_fifth_of_a_second() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            sending = asyncio.create_task(send(connection, "wait"))
            await _until(lambda: agent.done["wait"] == 1)
            started = time.monotonic()
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
            assert time.monotonic() - started < 0.2


async def test_a_task_can_be_cancelled_once_or_twice() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            ids = accepted(await send(connection, "ask"))
            assert await connection.cancel(ids.task_id)
            assert await connection.cancel(ids.task_id)
            assert await connection.cancel("never-seen")
    assert agent.done["cancelled"] == 1


async def test_an_agent_that_is_down_is_tried_again_and_then_named() -> None:
    with remote() as agent:
        async with connected(agent, max_retries=1) as connection:
            await connection.card()
            agent.served.stop()
            with pytest.raises(ConnectionLostError, match="'remote' cannot be reached"):
                await send(connection, "echo hello")


async def test_a_message_that_found_no_connection_is_sent_when_the_agent_is_back() -> None:
    with remote() as agent:
        async with connected(agent) as connection:
            await connection.card()
            agent.served.stop()
            sending = asyncio.create_task(send(connection, "echo hello"))
            await asyncio.to_thread(agent.served.start)
            assert told(await sending) == ["completed: hello"]
    assert agent.done == {"echo": 1}


@pytest.mark.parametrize("status", [400, 500, 503])
async def test_a_message_is_not_repeated_after_an_error_that_may_hide_work(status: int) -> None:
    with remote(fail_next={"SendStreamingMessage": [status]}) as agent:
        async with connected(agent) as connection:
            with pytest.raises(PeerError):
                await send(connection, "echo hello")
    assert agent.served.seen["SendStreamingMessage"] == 1


async def test_a_message_that_met_a_full_agent_is_sent_later() -> None:
    with remote(fail_next={"SendStreamingMessage": [429]}) as agent:
        async with connected(agent) as connection:
            assert told(await send(connection, "echo hello")) == ["completed: hello"]


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)
