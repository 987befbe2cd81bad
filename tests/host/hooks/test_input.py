"""`process_input`: what it changes is what the run works with."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentInput, AgentToolContext, AgentToolResult
from rasa.agents.schemas.agent_input import AgentInputSlot

from tests.host.hooks.play import SIZE, AtWork, Script, calling, python_tool, slots, then
from tests.host.project import Project, loaded
from tests.host.refused import logs
from tests.host.turn import agent_input, slot, take_turn

pytestmark = pytest.mark.host

PROMPT = "Size {{ slots.size }}, desk {{ slots.desk }}, {{ slots.current_date_time }}."


class Appointments(MCPTaskAgent):
    """The documentation's example: filters slots and adds one of its own."""

    async def process_input(self, agent_input: AgentInput) -> AgentInput:
        keep = {"size"}
        agent_input.slots = [s for s in agent_input.slots if s.name in keep]
        agent_input.slots.append(
            AgentInputSlot(
                name="current_date_time",
                value=datetime(2030, 1, 2).strftime("%Y-%m-%d"),  # noqa: DTZ001 - as documented
                type="datetime",
            )
        )
        return agent_input


class Upgrading(MCPTaskAgent):
    """Changes the slots it was given in place."""

    async def process_input(self, input: AgentInput) -> AgentInput:
        for one in input.slots:
            if one.name == "desk":
                one.value = "seven"
        return input


class Tenant(MCPOpenAgent):
    """Adds to the metadata, for its tool."""

    async def process_input(self, input: AgentInput) -> AgentInput:
        return input.model_copy(update={"metadata": {**input.metadata, "tenant_id": "t-9"}})

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [python_tool("who", self._who)]

    async def _who(self, arguments: dict[str, Any], context: AgentToolContext) -> AgentToolResult:
        return AgentToolResult(tool_name="who", result=str(context.metadata.get("tenant_id")))


class Broken(MCPOpenAgent):
    """Cannot read its input."""

    async def process_input(self, input: AgentInput) -> AgentInput:
        raise LookupError("no such customer")


async def test_process_input_filters_slots_and_adds_others_as_documented(
    at_work: AtWork, script: Script, project: Project
) -> None:
    model = script({"when": {"model": "agents"}, "answer": "Which size?"})
    (project.folder / "prompt.jinja2").write_text(PROMPT, encoding="utf-8")
    given = agent_input(slots=[slot("size"), slot("desk", "four")], exit_if=SIZE)
    async with at_work(Appointments, task=True, prompt_template="prompt.jinja2") as agent:
        output = await take_turn(agent, given)
    assert output.status.value == "input_required"
    assert model.messages()[0]["content"] == "Size , desk , 2030-01-02."


async def test_process_input_may_change_slots_in_place(
    at_work: AtWork, script: Script, project: Project
) -> None:
    model = script({"when": {"model": "agents"}, "answer": "Which size?"})
    (project.folder / "prompt.jinja2").write_text("Desk {{ slots.desk }}.", encoding="utf-8")
    given = agent_input(slots=[slot("size"), slot("desk", "four")], exit_if=SIZE)
    async with at_work(Upgrading, task=True, prompt_template="prompt.jinja2") as agent:
        output = await take_turn(agent, given)
    assert model.messages()[0]["content"] == "Desk seven."
    # What a hook changes in the input is no event: the conversation keeps its slot.
    assert slots(output) == []


async def test_process_input_adds_metadata_that_tools_get(at_work: AtWork, script: Script) -> None:
    model = script(calling("who"), then("You are {{ result }}."))
    async with at_work(Tenant) as agent:
        output = await take_turn(agent, agent_input())
    assert output.response_message == "You are t-9."
    assert "t-9" not in str(model.messages(0))


async def test_process_input_that_raises_is_a_failure_for_the_flow(
    project: Project, script: Script
) -> None:
    model = script()
    broken = project.with_agent(module=f"{__name__}.Broken")
    async with loaded(broken) as agent:
        with logs() as log:
            await agent.handle_text("start shop", sender_id="anna")
        tracker = await agent.tracker_store.retrieve("anna")
    assert "flow_cancelled" in [event.type_name for event in tracker.events]
    assert model.request_count == 1, "only the command generator was asked"
    assert "no such customer" in str(log)
