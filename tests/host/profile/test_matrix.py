"""Whole conversations are accepted by every provider, as strict as it is known to be."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from rasa.agents.core.cancellation import CancellationToken
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentToolResult

from tests.host.channels.output import Streaming
from tests.host.hooks.play import python_tool, said, slots
from tests.host.profile.talk import BOTH, talking
from tests.host.project import Project

pytestmark = [
    pytest.mark.host,
    pytest.mark.parametrize(
        "profile", ["openai", "azure", "anthropic", "gemini", "gemini_signed", "vllm", "bedrock"]
    ),
]

LOOK = {"name": "look_up", "arguments": {"item": "lamp {{ step }}"}}
SIZE = {"name": "set_slot_size", "arguments": {"slot_value": "L"}}


class Lingering(MCPOpenAgent):
    """Has a tool that never ends by itself.

    Attributes:
        begun: Is set when the tool runs; each test has its own.
    """

    begun: asyncio.Event

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        async def linger(arguments: dict[str, Any], context: Any) -> AgentToolResult:
            self.begun.set()
            await asyncio.Event().wait()
            raise AssertionError("it was waited for")

        return [python_tool("linger", linger)]


@pytest.fixture(autouse=True)
def _renewed() -> None:
    Lingering.begun = asyncio.Event()


def opens(user: str, *calls: Any, text: str | None = None) -> dict[str, Any]:
    """Rule: the first answer to these words."""
    answer = {"calls": list(calls), **({"text": text} if text else {})}
    return {"when": {"user": user, "step": 1}, "answer": answer}


def goes_on(user: str, answer: Any) -> dict[str, Any]:
    """Rule: the answer to the results of these words' calls."""
    return {"when": {"user": user, "last": "tool"}, "answer": answer}


async def test_an_open_run_over_three_turns_is_accepted(
    project: Project, profile: str, done: Counter[str]
) -> None:
    reserve = {"name": "reserve", "arguments": {"item": "lamp"}}
    vase = {"name": "look_up", "arguments": {"item": "vase"}}
    closing = {"text": "Enjoy it.", "calls": [{"name": "task_completed"}]}
    rules = [
        opens("a lamp", LOOK, reserve, vase, {"name": "fail"}, text="Let me look."),
        goes_on("a lamp", "The till is stuck. Wait or pay later?"),
        opens("later", {"name": "look_up", "arguments": {"item": "price"}}),
        goes_on("later", "It is 40. Agreed?"),
        {"when": {"user": "agreed"}, "answer": closing},
    ]
    async with talking(project, profile, rules) as (talk, server):
        first = await talk.say("a lamp and a vase")
        second = await talk.say("later", channel=Streaming())
        third = await talk.say("agreed")
        remembered = [m for m in server.messages() if m["role"] == "tool"]
    assert said(first) == [
        ("Let me look.", "filler_message"),
        ("The till is stuck. Wait or pay later?", "input_required"),
    ]
    executed = [event.is_error for event in first.events if event.type_name != "bot"]
    assert executed == [False, False, False, True]
    assert second.status.value == "input_required"
    assert len(remembered) == 5, "the last turn knows the calls of both turns before"
    assert (third.status.value, said(third)) == (
        "completed",
        [("Enjoy it.", "final_response")],
    )
    assert done == {"look_up": 3, "reserve": 1}


async def test_a_completion_without_text_is_accepted(project: Project, profile: str) -> None:
    complete = {"name": "task_completed"}
    rules = [
        {"when": {"tool_choice": "none"}, "answer": "Come again."},
        opens("look", LOOK, text="Looking."),
        {"when": {"tool": "look_up"}, "answer": {"calls": [complete]}},
    ]
    async with talking(project, profile, rules) as (talk, server):
        output = await talk.say("look")
        assert server.request_count == 3
    assert output.status.value == "completed"
    assert said(output)[-1] == ("Come again.", "final_response")


async def test_a_limit_and_the_turn_after_it_are_accepted(project: Project, profile: str) -> None:
    rules = [
        {"when": {"tool_choice": "none"}, "answer": "So far: lamps."},
        {"when": {"user": "go on"}, "answer": "All done."},
        {"when": {}, "answer": {"text": "Once more.", "calls": [LOOK, LOOK]}},
    ]
    settings = {"max_steps": 2}
    async with talking(project, profile, rules, settings=settings) as (talk, server):
        first = await talk.say("look")
        assert server.request_count == 3
        second = await talk.say("go on")
    assert first.status.value == "input_required"
    assert said(first)[-1] == ("So far: lamps.", "input_required")
    assert said(second) == [("All done.", "input_required")]


async def test_a_cancelled_turn_and_the_turn_after_it_are_accepted(
    project: Project, profile: str
) -> None:
    rules = [
        opens("look", LOOK, {"name": "linger"}, text="Let me look."),
        {"when": {"user": "and now"}, "answer": "Here I am."},
    ]
    module = f"{__name__}.Lingering"
    token = CancellationToken()
    async with talking(project, profile, rules, module=module) as (talk, server):
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            turn = group.create_task(talk.say("look", cancellation_token=token))
            await Lingering.begun.wait()
            token.cancel()
        second = await talk.say("and now?")
        results = [m["content"] for m in server.messages() if m["role"] == "tool"]
    assert turn.result().status.value == "input_required"
    assert said(second) == [("Here I am.", "input_required")]
    assert len(results) == 2
    assert "stopped while this call was running" in results[1]


async def test_a_turn_cancelled_while_the_model_thinks_and_the_next_are_accepted(
    project: Project, profile: str
) -> None:
    rules = [
        {"when": {"user": "and now"}, "answer": "Here I am."},
        opens("look", LOOK, text="Let me look."),
        {"when": {"last": "tool"}, "fault": "hang"},
    ]
    token = CancellationToken()
    async with talking(project, profile, rules) as (talk, server):
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            group.create_task(talk.say("look", cancellation_token=token))
            await server.wait_until(lambda s: s.request_count == 2)
            token.cancel()
        second = await talk.say("and now?")
    assert said(second) == [("Here I am.", "input_required")]


async def test_a_task_whose_value_is_refused_first_is_accepted(
    project: Project, profile: str
) -> None:
    def amount(value: Any) -> dict[str, Any]:
        return {"name": "set_slot_amount", "arguments": {"slot_value": value}}

    rules = [
        opens("large", SIZE, LOOK, amount("plenty"), text="Noted."),
        goes_on("large", "How many?"),
        opens("twelve", amount(12)),
    ]
    async with talking(project, profile, rules, exit_if=BOTH) as (talk, server):
        first = await talk.say("large, plenty of them")
        refused = server.messages()[-1]
        second = await talk.say("twelve")
    assert first.status.value == "input_required"
    assert slots(first) == [("size", "L")]
    assert "was not changed" in refused["content"]
    assert (second.status.value, slots(second)) == ("completed", [("amount", 12.0)])
