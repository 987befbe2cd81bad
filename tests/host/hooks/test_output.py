"""`send_message`, `process_output` and `create_bot_uttered`: around the loop, and its record."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from rasa.agents.core.types import AgentStatus
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentInput, AgentOutput
from rasa.core.channels import CollectingOutputChannel, OutputChannel
from rasa.shared.core.events import BotUttered, Event, SlotSet

from tests.host.hooks.play import SET_SIZE, SIZE, AtWork, Script, calling, said, slots, then
from tests.host.project import Project, loaded
from tests.host.refused import logs
from tests.host.turn import agent_input, slot, take_turn

pytestmark = pytest.mark.host

ASKS = {"when": {"model": "agents"}, "answer": "Which size?"}


class Working(MCPOpenAgent):
    """The documentation's example of an intermediate message, as it is printed there."""

    async def send_message(
        self, agent_input: AgentInput, output_channel: OutputChannel | None = None
    ) -> AgentOutput:
        generated_events: list[Event] = []
        if output_channel is not None and agent_input.recipient_id is not None:
            message = "Starting to work on your request..."
            # Send the intermediate message in background without awaiting it
            async_task = asyncio.create_task(
                output_channel.send_text_message(
                    recipient_id=agent_input.recipient_id,
                    text=message,
                )
            )

            # Append BotUttered only if the async send succeeded
            def _on_send_done(t: asyncio.Task[Any]) -> None:
                if not t.exception():
                    generated_events.append(BotUttered(text=message))

            async_task.add_done_callback(_on_send_done)

        # Delegate to the parent implementation which contains the main logic
        agent_output = await super().send_message(agent_input, output_channel=output_channel)

        # Append any generated events to the agent output
        agent_output.events = agent_output.events or []
        agent_output.events.extend(generated_events)

        return agent_output


class Presetting(MCPTaskAgent):
    """Changes slots of the input before the loop, in place and anew."""

    async def send_message(
        self, agent_input: AgentInput, output_channel: OutputChannel | None = None
    ) -> AgentOutput:
        for one in agent_input.slots:
            if one.name == "desk":
                one.value = "seven"
        agent_input.slots = [one for one in agent_input.slots if one.name != "amount"]
        return await super().send_message(agent_input, output_channel)


class Replacing(MCPOpenAgent):
    """Has no loop at all."""

    async def send_message(
        self, agent_input: AgentInput, output_channel: OutputChannel | None = None
    ) -> AgentOutput:
        return AgentOutput(
            id=agent_input.id, status=AgentStatus.COMPLETED, response_message="No loop today."
        )


class Refusing(MCPOpenAgent):
    """Fails before the loop."""

    async def send_message(
        self, agent_input: AgentInput, output_channel: OutputChannel | None = None
    ) -> AgentOutput:
        raise PermissionError("closed on Sundays")


class Polishing(MCPOpenAgent):
    """`process_output` of the first samples."""

    async def process_output(self, output: AgentOutput) -> AgentOutput:
        output.events = [*(output.events or []), SlotSet("desk", output.response_message)]
        return output


class Spoiling(MCPOpenAgent):
    """A `process_output` that fails."""

    def process_output(self, output: AgentOutput) -> AgentOutput:
        raise ValueError("no polish left")


class Forgetting(MCPOpenAgent):
    """A `process_output` that returns nothing."""

    async def process_output(self, output: AgentOutput) -> Any:
        return None


class Signing(MCPOpenAgent):
    """Signs what is recorded."""

    def create_bot_uttered(self, text: str, agent_input: AgentInput, *more: Any) -> BotUttered:
        event = super().create_bot_uttered(text, agent_input, *more)
        event.metadata["signed_by"] = self._name
        return event


class Unrecorded(MCPOpenAgent):
    """Cannot record."""

    def create_bot_uttered(self, *given: Any, **more: Any) -> BotUttered:
        raise RuntimeError("no ink")


class Misrecording(MCPOpenAgent):
    """Records something else."""

    def create_bot_uttered(self, *given: Any, **more: Any) -> Any:
        return "Which size?"


async def test_send_message_of_the_documentation_works_as_it_is_printed(
    at_work: AtWork, script: Script
) -> None:
    script({"when": {"model": "agents"}, "answer": "All done."})
    channel = CollectingOutputChannel()
    async with at_work(Working) as agent:
        output = await take_turn(agent, agent_input(), output_channel=channel)
    texts = [message["text"] for message in channel.messages]
    assert texts == ["Starting to work on your request...", "All done."]
    assert {text for text, _ in said(output)} == set(texts)
    assert output.response_message == "All done."
    assert output.unsent_response_message == ""


async def test_send_message_may_change_the_slots_of_its_input(
    at_work: AtWork, script: Script, project: Project
) -> None:
    model = script(
        {"when": {"model": "agents", "step": 1}, "answer": SET_SIZE},
        {"when": {"model": "agents"}, "answer": "How many?"},
    )
    template = "{{ slots.desk }} {{ slots.size }} {{ slots.amount }}"
    (project.folder / "prompt.jinja2").write_text(template, encoding="utf-8")
    given = agent_input(
        slots=[slot("desk", "four"), slot("size"), slot("amount", type="float")],
        exit_if=[*SIZE, "slots.amount > 0"],
    )
    async with at_work(Presetting, task=True, prompt_template="prompt.jinja2") as agent:
        output = await take_turn(agent, given)
    assert [model.messages(n)[0]["content"].split() for n in range(2)] == [
        ["seven"],
        ["seven", "L"],
    ]
    assert {"set_slot_size", "set_slot_amount"} <= set(model.tool_names())
    assert slots(output) == [("size", "L")]
    assert output.status.value == "input_required"


async def test_send_message_without_super_takes_the_place_of_the_loop(
    at_work: AtWork, script: Script
) -> None:
    model = script(ASKS)
    async with at_work(Replacing) as agent:
        output = await take_turn(agent, agent_input())
    assert (output.status.value, output.response_message) == ("completed", "No loop today.")
    assert model.request_count == 0


async def test_send_message_that_raises_is_a_failure_for_the_flow(
    project: Project, script: Script
) -> None:
    script(ASKS)
    async with loaded(project.with_agent(module=f"{__name__}.Refusing")) as agent:
        with logs() as log:
            await agent.handle_text("start shop", sender_id="anna")
        tracker = await agent.tracker_store.retrieve("anna")
    cancelled = [event for event in tracker.events if event.type_name == "agent_cancelled"]
    assert [event.reason for event in cancelled] == ["closed on Sundays"]
    assert "flow_cancelled" in [event.type_name for event in tracker.events]
    assert "closed on Sundays" in repr(log)


async def test_process_output_of_the_first_samples_decides_the_output(
    at_work: AtWork, script: Script
) -> None:
    script(ASKS)
    async with at_work(Polishing) as agent:
        output = await take_turn(agent, agent_input())
    assert slots(output) == [("desk", "Which size?")]


@pytest.mark.parametrize("user_class", [Spoiling, Forgetting])
async def test_process_output_that_raises_or_returns_nothing_fails_the_turn_with_its_events(
    at_work: AtWork, script: Script, user_class: type
) -> None:
    script(calling("look_up", item="lamp"), then("On B4."))
    async with at_work(user_class) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input())
    assert output.status.value == "fatal_error"
    assert "process_output" in output.error_message
    assert [event.type_name for event in output.events] == ["mcp_tool_executed"]
    assert "rasa_react_ext.hook.process_output_failed" in [entry["event"] for entry in log]


async def test_create_bot_uttered_makes_the_record_of_each_text(
    at_work: AtWork, script: Script
) -> None:
    script(calling("look_up", item="lamp", text="Let me look."), then("On B4."))
    async with at_work(Signing) as agent:
        output = await take_turn(agent, agent_input(), output_channel=CollectingOutputChannel())
    assert said(output) == [("Let me look.", "filler_message"), ("On B4.", "input_required")]
    signed = [e.metadata["signed_by"] for e in output.events if e.type_name == "bot"]
    assert signed == ["clerk", "clerk"]


@pytest.mark.parametrize("user_class", [Unrecorded, Misrecording])
async def test_create_bot_uttered_that_raises_leaves_the_default_record(
    at_work: AtWork, script: Script, user_class: type
) -> None:
    script(ASKS)
    channel = CollectingOutputChannel()
    async with at_work(user_class) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input(), output_channel=channel)
    assert said(output) == [("Which size?", "input_required")]
    assert output.events[0].metadata["utter_source"] == user_class.__name__
    assert output.status.value == "input_required"
    assert "rasa_react_ext.hook.create_bot_uttered_failed" in [entry["event"] for entry in log]
