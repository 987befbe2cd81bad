"""Single turns in which a call that asked the user goes on: stopped, broken, capped."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from rasa.agents.core.cancellation import CancellationToken
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentToolResult

from rasa_react_ext.host import process
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import calling, python_tool, results, then
from tests.host.mcp.booking import ASKS, booking, calls
from tests.host.project import Project
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served, serving
from tests.mcp_pool.steps import until

pytestmark = pytest.mark.host


@pytest.fixture
def served(done: Counter[str]) -> Iterator[Served]:
    with serving(lambda: booking(done).streamable_http_app()) as running:
        yield running


def first_calling(name: str) -> dict[str, Any]:
    """Rule: the first message calls this tool."""
    return {"when": {"model": "agents", "user": "hello", "last": "user"}, "answer": calls(name)}


def then_says() -> dict[str, Any]:
    """Rule: what the model says to everything else."""
    return {"when": {"model": "agents"}, "answer": "I have heard of it."}


@pytest.fixture
async def waiting(
    project: Project, script: Callable[..., ModelServer], served: Served
) -> AsyncIterator[tuple[Any, Any]]:
    """An agent of which a slow call waits for the user, and what its first turn gave."""
    script(first_calling("book_slowly"), then_says())
    ours = project.having(servers={"store": served.url}).with_agent(tool_timeout=20)
    async with agent_at_work(ours, settings={"elicitation": "ask"}) as agent:
        first = await take_turn(agent, agent_input("hello"))
        assert (first.status.value, first.response_message) == ("input_required", ASKS)
        yield agent, first


async def test_d4_1_a_turn_that_is_stopped_while_its_call_goes_on_calls_the_tool_off(
    waiting: tuple[Any, Any], done: Counter[str], model: ModelServer
) -> None:
    agent, first = waiting
    token = CancellationToken()
    given = agent_input("12A", events=first.events, **first.metadata)
    turn = asyncio.create_task(take_turn(agent, given, cancellation_token=token))
    await until(lambda: done["booked"] == 1)
    token.cancel()
    output = await turn
    assert output.response_message is None
    assert len(process.current().open_calls) == 0
    await until(lambda: done["called off"] == 1)
    events = [*first.events, *output.events]
    await take_turn(agent, agent_input("well?", events=events, **output.metadata))
    (told,) = results(model)
    assert "Whether it took effect is unknown" in told


async def test_d4_1_a_task_that_is_cancelled_while_its_call_goes_on_calls_the_tool_off(
    waiting: tuple[Any, Any], done: Counter[str]
) -> None:
    agent, first = waiting
    given = agent_input("12A", events=first.events, **first.metadata)
    turn = asyncio.create_task(take_turn(agent, given))
    await until(lambda: done["booked"] == 1)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    assert len(process.current().open_calls) == 0
    await until(lambda: done["called off"] == 1)


async def test_b69_a_call_that_goes_on_with_progress_ends_with_the_turn_it_goes_on_in(
    project: Project, script: Callable[..., ModelServer], served: Served
) -> None:
    model = script(first_calling("book_noisily"), then_says())
    given = project.having(servers={"store": served.url}).with_agent(tool_timeout=0.8, timeout=3)
    async with agent_at_work(given, settings={"elicitation": "ask"}) as agent:
        first = await take_turn(agent, agent_input("hello"))
        async with asyncio.timeout(10):
            answer = agent_input("12A", events=first.events, **first.metadata)
            second = await take_turn(agent, answer)
    (executed,) = [event for event in second.events if event.type_name == "mcp_tool_executed"]
    assert executed.is_error
    assert 800 < executed.metadata["duration_ms"] < 3_000
    assert "unknown" in results(model)[0]


async def test_d4_1_a_turn_that_a_hook_breaks_leaves_no_call_open(
    project: Project, script: Callable[..., ModelServer], served: Served, done: Counter[str]
) -> None:
    script(calling("book", "sit_down"), then())
    ours = project.having(servers={"store": served.url})
    broken = ours.with_agent(module="tests.host.mcp.test_open_turn.Breaking")
    async with agent_at_work(broken, settings={"elicitation": "ask"}) as agent:
        output = await take_turn(agent, agent_input("hello"))
        assert output.status.value == "fatal_error"
        assert len(process.current().open_calls) == 0
        await until(lambda: done["called off"] == 1)


class Breaking(MCPOpenAgent):
    """Has a tool of its own, and a hook that fails when it sees its result."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [python_tool("sit_down", _sit_down)]

    async def process_tool_output(self, *given: Any) -> None:
        raise ValueError("broken")


async def _sit_down(arguments: dict[str, Any]) -> AgentToolResult:
    return AgentToolResult(tool_name="sit_down", result="sat")
