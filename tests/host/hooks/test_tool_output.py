"""`process_tool_output` and the structured results: what a project makes of tool results."""

from __future__ import annotations

from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentInput, AgentToolResult
from rasa.core.channels import CollectingOutputChannel
from rasa.shared.core.events import Event, SlotSet

from tests.host.hooks.play import SIZE, AtWork, Script, calling, python_tool, slots, then
from tests.host.project import Project
from tests.host.turn import agent_input, slot, take_turn

pytestmark = pytest.mark.host

LOOK = {"calls": [{"name": "look_up", "arguments": {"item": "lamp {{ step }}"}}]}
seen: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


class Shelves(MCPOpenAgent):
    """Keeps where things stand in a slot."""

    async def process_tool_output(
        self,
        current_iteration_tool_results: dict[str, AgentToolResult],
        cumulative_tool_results: dict[str, AgentToolResult],
        output_channel: Any = None,
    ) -> list[Event]:
        seen.append((dict(current_iteration_tool_results), len(cumulative_tool_results)))
        if output_channel is not None:
            await output_channel.send_text_message("anna", f"step {len(seen)}")
        return [SlotSet("desk", f"seen {len(cumulative_tool_results)}")]


class Deciding(MCPTaskAgent):
    """Sets the exit slot itself, from a result."""

    async def process_tool_output(self, current: Any, cumulative: Any, channel: Any = None) -> Any:
        return [{"event": "slot", "name": "size", "value": "XL"}]


class Stumbling(MCPOpenAgent):
    """Fails at what a tool returned, after an executor has set a slot."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        result = AgentToolResult(tool_name="note", result="noted")
        return [python_tool("note", lambda arguments, context: (result, [SlotSet("desk", "4")]))]

    async def process_tool_output(self, current: Any, cumulative: Any, channel: Any = None) -> Any:
        raise TypeError("no shelf")


class Short(MCPOpenAgent):
    """Keeps its own form of the results."""

    def _get_structured_results_for_agent_output(
        self, agent_input: AgentInput, current_tool_results: dict[str, AgentToolResult]
    ) -> list[list[dict[str, Any]]]:
        return [[{"tools": [result.tool_name for result in current_tool_results.values()]}]]


class Adding(MCPOpenAgent):
    """Adds to the parent's results."""

    def _get_structured_results_for_agent_output(
        self, agent_input: AgentInput, current_tool_results: dict[str, AgentToolResult]
    ) -> list[list[dict[str, Any]]]:
        parent = super()._get_structured_results_for_agent_output(agent_input, current_tool_results)
        return [*parent, [{"name": "added", "result": None}]]


async def test_process_tool_output_gets_successes_by_call_id_and_its_slots_are_seen_at_once(
    at_work: AtWork, script: Script, project: Project
) -> None:
    model = script(
        {"when": {"model": "agents", "step": 1}, "answer": LOOK},
        {
            "when": {"model": "agents", "step": 2},
            "answer": {"calls": [*LOOK["calls"], {"name": "fail"}]},
        },
        then("On B4."),
    )
    (project.folder / "prompt.jinja2").write_text("Desk: {{ slots.desk }}.", encoding="utf-8")
    channel = CollectingOutputChannel()
    async with at_work(Shelves, prompt_template="prompt.jinja2") as agent:
        output = await take_turn(agent, agent_input(slots=[slot("desk")]), output_channel=channel)
    assert [(list(current), total) for current, total in seen] == [
        (["call_1_1"], 1),
        (["call_2_1"], 2),
    ], "the failed call is not among the results"
    assert [result.tool_name for result in seen[0][0].values()] == ["look_up"]
    assert "B4" in seen[0][0]["call_1_1"].result
    prompts = [model.messages(number)[0]["content"] for number in range(3)]
    assert prompts == ["Desk: .", "Desk: seen 1.", "Desk: seen 2."]
    assert slots(output) == [("desk", "seen 1"), ("desk", "seen 2")]
    assert [m["text"] for m in channel.messages] == ["step 1", "step 2", "On B4."]


async def test_process_tool_output_can_meet_the_exit_conditions(
    at_work: AtWork, script: Script
) -> None:
    model = script({"when": {"model": "agents"}, "answer": LOOK})
    async with at_work(Deciding, task=True) as agent:
        output = await take_turn(agent, agent_input(slots=[slot("size")], exit_if=SIZE))
    assert output.status.value == "completed"
    assert slots(output) == [("size", "XL")]
    assert model.request_count == 1


async def test_process_tool_output_that_raises_fails_the_turn_and_keeps_every_event(
    at_work: AtWork, script: Script
) -> None:
    script(calling("note", text="One moment."), then())
    channel = CollectingOutputChannel()
    async with at_work(Stumbling) as agent:
        output = await take_turn(agent, agent_input(slots=[slot("desk")]), output_channel=channel)
    assert output.status.value == "fatal_error"
    assert output.error_message == "TypeError: no shelf"
    kinds = [event.type_name for event in output.events]
    assert kinds == ["bot", "mcp_tool_executed", "slot"]


async def test_get_structured_results_for_agent_output_decides_what_the_output_holds(
    at_work: AtWork, script: Script
) -> None:
    script({"when": {"model": "agents", "step": 1}, "answer": LOOK}, then("On B4."))
    earlier = [[{"name": "look_up", "result": "A1"}]]
    async with at_work(Short) as agent:
        short = await take_turn(agent, agent_input(structured_results=earlier))
    async with at_work(Adding) as agent:
        added = await take_turn(agent, agent_input(structured_results=earlier))
    assert short.structured_results == [[{"tools": ["look_up"]}]]
    assert added.structured_results[0] == earlier[0]
    assert "B4" in added.structured_results[1][0]["result"]
    assert added.structured_results[2] == [{"name": "added", "result": None}]
    assert earlier == [[{"name": "look_up", "result": "A1"}]], "the input's list is left alone"
