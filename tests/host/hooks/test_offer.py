"""Hooks that say which tools a model is offered, and with what words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentInput, AgentToolResult, AgentToolSchema

from tests.host.hooks.play import (
    SET_SIZE,
    SIZE,
    AtWork,
    Script,
    calling,
    python_tool,
    results,
    said,
    slots,
    then,
)
from tests.host.project import Project, loaded
from tests.host.turn import agent_input, slot, take_turn

pytestmark = pytest.mark.host

DONE = {"calls": [{"name": "task_completed"}]}


class CarResearch(MCPOpenAgent):
    """The documentation's examples: another description, another instruction."""

    @staticmethod
    def get_task_completed_tool() -> dict[str, Any]:
        tool = deepcopy(MCPOpenAgent.get_task_completed_tool())
        tool["function"]["description"] = "Call once when the research task is done."
        return tool

    @staticmethod
    def get_system_message_for_empty_content_at_task_completion() -> dict[str, str]:
        return {"role": "system", "content": "Reply with one short sentence in formal tone."}


class Inheriting(MCPOpenAgent):
    """Starts from what `super()` of its own class gives."""

    @staticmethod
    def get_task_completed_tool() -> dict[str, Any]:
        tool = deepcopy(MCPOpenAgent.get_task_completed_tool())
        tool["function"]["parameters"]["properties"]["message"] = {"type": "string"}
        tool["function"]["parameters"]["required"] = ["message"]
        return tool


class Endless(MCPOpenAgent):
    """Cannot say how it ends."""

    @staticmethod
    def get_task_completed_tool() -> dict[str, Any]:
        raise NotImplementedError("no end")


class Wordless(MCPOpenAgent):
    """Has no instruction for the closing line."""

    @staticmethod
    def get_system_message_for_empty_content_at_task_completion() -> dict[str, str]:
        raise KeyError("content")


class Sizes(MCPTaskAgent):
    """Describes one slot itself and takes the parent's tools for the others."""

    @classmethod
    def get_slot_specific_set_slot_tool(cls, slot: Any) -> dict[str, Any]:
        tool = super().get_slot_specific_set_slot_tool(slot)
        if slot.name == "size":
            tool["function"]["description"] = "S, M or L."
            tool["function"]["parameters"]["properties"]["slot_value"]["enum"] = ["S", "M", "L"]
        return tool


class Slotless(MCPTaskAgent):
    """Cannot describe a slot."""

    @classmethod
    def get_slot_specific_set_slot_tool(cls, slot: Any) -> dict[str, Any]:
        raise LookupError(f"no words for {slot.name}")


class Careful(MCPOpenAgent):
    """Offers neither reservations nor the tool of its own, and describes another anew."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        result = AgentToolResult(tool_name="hidden", result="seen")
        return [python_tool("hidden", lambda arguments, context: result)]

    def get_available_tools(self, agent_input: AgentInput) -> list[AgentToolSchema]:
        tools = [
            tool
            for tool in super().get_available_tools(agent_input)
            if tool.name not in {"reserve", "hidden"}
        ]
        for tool in tools:
            if tool.name == "look_up":
                tool.description = f"Find an item for {agent_input.recipient_id}."
        return tools


class Toolless(MCPOpenAgent):
    """Cannot list its tools."""

    def get_available_tools(self, agent_input: AgentInput) -> list[AgentToolSchema]:
        raise OSError("no list")


async def test_get_task_completed_tool_may_copy_and_change_the_parents_definition(
    at_work: AtWork, script: Script
) -> None:
    model = script({"when": {"model": "agents"}, "answer": {**DONE, "text": "Goodbye."}})
    async with at_work(CarResearch) as agent:
        output = await take_turn(agent, agent_input())
    tools = {tool["function"]["name"]: tool for tool in (model.last.body or {})["tools"]}
    assert tools["task_completed"]["function"]["description"].startswith("Call once when the res")
    assert (output.status.value, output.response_message) == ("completed", "Goodbye.")


async def test_get_task_completed_tool_that_raises_fails_the_turn(
    project: Project, script: Script
) -> None:
    model = script()
    async with loaded(project.with_agent(module=f"{__name__}.Endless")) as agent:
        await agent.handle_text("start shop", sender_id="anna")
        tracker = await agent.tracker_store.retrieve("anna")
    assert "flow_cancelled" in [event.type_name for event in tracker.events]
    assert model.request_count == 1


async def test_task_completed_with_a_message_argument_says_it_when_the_answer_has_no_text(
    at_work: AtWork, script: Script
) -> None:
    call = {"name": "task_completed", "arguments": {"message": "It is yours."}}
    model = script({"when": {"model": "agents"}, "answer": {"calls": [call]}})
    async with at_work(Inheriting) as agent:
        output = await take_turn(agent, agent_input())
    assert (output.status.value, output.response_message) == ("completed", "It is yours.")
    assert model.request_count == 1


async def test_get_system_message_for_empty_content_at_task_completion_asks_for_the_closing_line(
    at_work: AtWork, script: Script
) -> None:
    model = script(
        {"when": {"model": "agents", "tool_choice": "none"}, "answer": "I bid you farewell."},
        {"when": {"model": "agents"}, "answer": DONE},
    )
    async with at_work(CarResearch) as agent:
        output = await take_turn(agent, agent_input())
    assert (output.status.value, output.response_message) == ("completed", "I bid you farewell.")
    prompts = [message for message in model.messages() if message["role"] == "system"]
    assert len(prompts) == 1
    assert prompts[0]["content"].endswith("Reply with one short sentence in formal tone.")


async def test_get_system_message_for_empty_content_at_task_completion_that_raises_fails_the_turn(
    at_work: AtWork, script: Script
) -> None:
    script({"when": {"model": "agents"}, "answer": DONE})
    async with at_work(Wordless) as agent:
        output = await take_turn(agent, agent_input())
    assert output.status.value == "fatal_error"
    assert "KeyError" in output.error_message


async def test_get_slot_specific_set_slot_tool_changes_one_slot_and_keeps_the_others(
    at_work: AtWork, script: Script
) -> None:
    model = script(
        {"when": {"model": "agents", "step": 1}, "answer": SET_SIZE},
        {"when": {"model": "agents"}, "answer": "How many?"},
    )
    given = agent_input(
        slots=[slot("size"), slot("amount", type="float")], exit_if=[*SIZE, "slots.amount > 0"]
    )
    async with at_work(Sizes, task=True) as agent:
        output = await take_turn(agent, given)
    tools = {
        tool["function"]["name"]: tool["function"] for tool in (model.last.body or {})["tools"]
    }
    assert tools["set_slot_size"]["description"] == "S, M or L."
    assert tools["set_slot_size"]["parameters"]["properties"]["slot_value"]["enum"]
    assert tools["set_slot_amount"]["parameters"]["properties"]["slot_value"]["type"] == "number"
    assert slots(output) == [("size", "L")]


async def test_get_slot_specific_set_slot_tool_that_raises_fails_the_turn(
    project: Project, script: Script
) -> None:
    model = script()
    async with loaded(project.with_agent(module=f"{__name__}.Slotless")) as agent:
        await agent.handle_text("start booking", sender_id="anna")
        tracker = await agent.tracker_store.retrieve("anna")
    reasons = [e.reason for e in tracker.events if e.type_name == "agent_cancelled"]
    assert reasons == ["no words for size"]
    assert model.request_count == 1


async def test_get_available_tools_leaves_out_and_describes_tools(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("reserve", "hidden", "look_up", item="lamp"), then("On B4."))
    async with at_work(Careful) as agent:
        output = await take_turn(agent, agent_input())
    tools = {
        tool["function"]["name"]: tool["function"] for tool in (model.last.body or {})["tools"]
    }
    assert {"reserve", "hidden"}.isdisjoint(tools)
    assert tools["look_up"]["description"] == "Find an item for anna."
    reserve, hidden, look_up = results(model)
    assert "no tool 'reserve'" in reserve
    assert "no tool 'hidden'" in hidden
    assert "B4" in look_up
    executed = [e.tool_name for e in output.events if e.type_name == "mcp_tool_executed"]
    assert executed == ["look_up"]
    assert said(output) == []


async def test_get_available_tools_that_raises_fails_the_turn(
    at_work: AtWork, script: Script
) -> None:
    model = script({"when": {"model": "agents"}, "answer": "?"})
    async with at_work(Toolless) as agent:
        output = await take_turn(agent, agent_input())
    assert (output.status.value, output.error_message) == ("fatal_error", "OSError: no list")
    assert model.request_count == 0
