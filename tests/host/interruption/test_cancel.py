"""A turn that the host cancels stops at once, says nothing and can be followed by another."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from rasa.agents.core.cancellation import CancellationToken

from rasa_react_ext.testing import ModelServer
from tests.engine.shape import refusals
from tests.host.channels.output import Streaming
from tests.host.interruption import agent as slow
from tests.host.project import Project, loaded
from tests.host.turn import agent_at_work, agent_input, take_turn

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
AGENTS = {"model": "agents"}
AT_ONCE_SECONDS = 1.0
"""Far more than a turn takes to stop (0.1 s), far less than what it stops."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a turn is when it is cancelled.

    Attributes:
        answer: The model's first answer, or fault.
        reached: Whether the turn is there; gets the model's server and the store's counts.
        unknown: A call was stopped whose outcome nobody knows.
        said: What the user has seen and heard of it.
    """

    answer: dict[str, Any]
    reached: Callable[[ModelServer, Counter[str]], bool]
    unknown: bool = False
    said: str = ""


def _calls(name: str, **arguments: Any) -> dict[str, Any]:
    call = {"name": name, "arguments": arguments}
    return {"answer": {"text": "One moment.", "calls": [call]}}


LONG = {"text": "once " * 100, "stream": {"chunk_chars": 5, "interval_seconds": 0.1}}
PLACES = {
    "while the model answers": Place(
        answer={"fault": {"hang": 20}}, reached=lambda model, done: model.request_count == 1
    ),
    "while the model streams": Place(
        answer={"answer": LONG}, reached=lambda model, done: bool(slow.begun), said="once"
    ),
    "while an MCP tool runs": Place(
        answer=_calls("meet", count=2, guest="a"),
        reached=lambda model, done: done["meet"] == 1,
        unknown=True,
        said="One moment.",
    ),
    "while a coroutine runs": Place(
        answer=_calls("await_it"),
        reached=lambda model, done: slow.begun == ["One", "await_it"],
        unknown=True,
        said="One moment.",
    ),
    "while a thread runs": Place(
        answer=_calls("block_on_it"),
        reached=lambda model, done: slow.begun == ["One", "block_on_it"],
        unknown=True,
        said="One moment.",
    ),
}
places = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


class Noting(Streaming):
    """Notes the first word of each message."""

    async def send_response_chunk(self, recipient_id: str, chunk: str, **kwargs: Any) -> None:
        if not self._accumulated_streaming_text:
            slow.begun.append(chunk.split(maxsplit=1)[0])
        await super().send_response_chunk(recipient_id, chunk, **kwargs)


@pytest.fixture(autouse=True)
def _renewed() -> Iterator[None]:
    slow.begun.clear()
    slow.let_go.clear()
    yield
    slow.let_go.set()


@places
async def test_d3_10_the_token_ends_a_turn_at_once_silently_and_the_next_turn_is_valid(
    project: Project,
    script: Script,
    done: Counter[str],
    place: Place,
) -> None:
    model = _scripted(script, place)
    token = CancellationToken()
    async with agent_at_work(_slow(project)) as agent:
        turn = await _begun(agent, model, done, place, cancellation_token=token)
        cancelled = time.monotonic()
        token.cancel()
        async with asyncio.timeout(AT_ONCE_SECONDS):
            output = await turn
        print(f"stopped after {(time.monotonic() - cancelled) * 1000:.1f} ms")
        assert output.status.value == "input_required"
        assert output.response_message is None
        assert output.unsent_response_message == ""
        _check_record(output, place)
        # The host saves what came of the turn; the user goes on.
        again = agent_input("and now?", events=output.events, **(output.metadata or {}))
        after = await take_turn(agent, again, output_channel=Noting())
    assert after.response_message == "Here I am."
    _check_history(model, unknown=place.unknown)


@places
async def test_d3_10_cancelling_the_task_ends_a_turn_at_once(
    project: Project, script: Script, done: Counter[str], place: Place
) -> None:
    model = _scripted(script, place)
    async with agent_at_work(_slow(project)) as agent:
        turn = await _begun(agent, model, done, place)
        turn.cancel()
        async with asyncio.timeout(AT_ONCE_SECONDS):
            with pytest.raises(asyncio.CancelledError):
                await turn
        after = await take_turn(agent, agent_input("and now?"), output_channel=Noting())
    assert after.response_message == "Here I am."
    _check_history(model, unknown=False)


async def test_d3_10_on_cancel_end_ends_the_flow(
    project: Project, script: Script, done: Counter[str]
) -> None:
    place = PLACES["while a coroutine runs"]
    model, token = _scripted(script, place), CancellationToken()
    async with agent_at_work(_slow(project), settings={"on_cancel": "end"}) as agent:
        turn = await _begun(agent, model, done, place, cancellation_token=token)
        token.cancel()
        output = await turn
    assert output.status.value == "cancelled"
    _check_record(output, place)


async def test_d3_10_a_token_that_is_cancelled_before_the_turn_asks_nobody(
    project: Project, script: Script
) -> None:
    model, token = script(), CancellationToken()
    token.cancel()
    async with agent_at_work(_slow(project)) as agent:
        output = await take_turn(agent, agent_input(), cancellation_token=token)
    assert (output.status.value, output.response_message) == ("input_required", None)
    assert model.request_count == 0


async def test_d3_10_a_call_that_ended_beside_a_stopped_one_keeps_its_result(
    project: Project, script: Script, done: Counter[str]
) -> None:
    calls = [{"name": "look_up", "arguments": {"item": "lamp"}}, {"name": "await_it"}]
    place = Place(
        answer={"answer": {"calls": calls}},
        reached=lambda model, done: slow.begun == ["await_it"] and done["look_up"] == 1,
        unknown=True,
    )
    model, token = _scripted(script, place), CancellationToken()
    async with agent_at_work(_slow(project)) as agent:
        turn = await _begun(agent, model, done, place, cancellation_token=token)
        await asyncio.sleep(0.3)  # the answer of the store is on its way
        token.cancel()
        output = await turn
    looked, stopped = output.events
    assert (looked.tool_name, looked.is_error) == ("look_up", False)
    assert "B4" in looked.result
    assert (stopped.tool_name, stopped.is_error) == ("await_it", True)


async def test_d3_10_a_flow_whose_turn_is_cancelled_lives_on(
    project: Project, script: Script
) -> None:
    place = PLACES["while a coroutine runs"]
    model = script(
        {"when": {**AGENTS, "user": "start shop", "last": "user"}, **place.answer},
        {"when": {**AGENTS, "last": "user"}, "answer": "Here I am."},
    )
    async with loaded(_slow(project)) as agent:
        turn = asyncio.create_task(agent.handle_text("start shop", sender_id="anna"))
        async with asyncio.timeout(20):
            while "await_it" not in slow.begun:
                await asyncio.sleep(0.01)
            assert agent.cancel_background_tasks("anna")
            said = await turn
        assert [message["text"] for message in said] == ["One moment."]
        again = await agent.handle_text("and now?", sender_id="anna")
        tracker = await agent.tracker_store.retrieve("anna")
    assert [message["text"] for message in again] == ["Here I am."]
    assert tracker.active_flow == "shop"
    roles = [message["role"] for message in model.messages()]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert "unknown" in model.messages()[3]["content"]


def _slow(project: Project) -> Project:
    return project.with_agent(module="tests.host.interruption.agent.Slow", tool_timeout=15.0)


def _scripted(script: Script, place: Place) -> ModelServer:
    return script(
        {"when": {**AGENTS, "user": "hello", "last": "user"}, "times": 1, **place.answer},
        {"when": {**AGENTS, "last": "user"}, "answer": "Here I am."},
    )


async def _begun(
    agent: Any, model: ModelServer, done: Counter[str], place: Place, **how: Any
) -> asyncio.Task[Any]:
    """A turn that has come to the place."""
    turn = asyncio.create_task(take_turn(agent, agent_input(), output_channel=Noting(), **how))
    async with asyncio.timeout(10):
        while not place.reached(model, done):
            assert not turn.done(), turn.result()
            await asyncio.sleep(0.01)
    return turn


def _check_record(output: Any, place: Place) -> None:
    uttered = [event.text for event in output.events if event.type_name == "bot"]
    assert [text[: len(place.said)] for text in uttered] == ([place.said] if place.said else [])
    tools = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert [(t.is_error, "unknown" in t.error_message) for t in tools] == (
        [(True, True)] if place.unknown else []
    )
    assert len(output.events) == len(uttered) + len(tools)


def _check_history(model: ModelServer, *, unknown: bool) -> None:
    # It is the history that is looked at here, so the tools offered are plain ones.
    assert refusals(model.messages()) == {}
    told = [message["content"] for message in model.messages() if message["role"] == "tool"]
    assert ["unknown" in text for text in told] == ([True] if unknown else [])
