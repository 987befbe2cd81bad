"""Whole little agents as projects write them from the documentation, each for one need."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentInput, AgentOutput, AgentToolContext, AgentToolResult
from rasa.agents.schemas.agent_input import AgentInputSlot
from rasa.core.channels import OutputChannel
from rasa.shared.agents.outbound_call_hook import MCPOutboundCallContext, OutboundCallResult
from rasa.shared.core.events import BotUttered, Event, SlotSet

__all__ = [
    "Auditor",
    "Booker",
    "Butler",
    "Counter",
    "Farewell",
    "Herald",
    "Historian",
    "Member",
    "Rememberer",
    "Secretive",
    "Tailor",
    "Ticker",
]

Definition = dict[str, Any]


class Member(MCPOpenAgent):
    """Gives the prompt template a variable of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prompt_template = "{{ description }} The customer's tier is {{ tier }}."

    def _build_context_for_prompt(self, context: AgentInput) -> dict[str, Any]:
        tier = "gold" if context.metadata.get("points", 0) > 100 else "plain"
        return {**super()._build_context_for_prompt(context), "tier": tier}


class Ticker(MCPOpenAgent):
    """Has the newest price in the prompt of every step."""

    prices: Iterator[int] = iter(())

    def _build_system_prompt_cache_key(self, context: AgentInput) -> Any:
        return object()

    def render_prompt_template(self, context: AgentInput) -> str:
        return f"{super().render_prompt_template(context)}\nPrice now: {next(self.prices)}."


class Auditor(MCPOpenAgent):
    """Lets nobody reserve, and marks every other result."""

    async def _execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], agent_input: AgentInput | None = None
    ) -> AgentToolResult:
        if tool_name == "reserve":
            return AgentToolResult(
                tool_name=tool_name, is_error=True, error_message="Closed for stocktaking."
            )
        result = await super()._execute_tool_call(tool_name, arguments, agent_input)
        return result.model_copy(update={"result": f"[audited] {result.result}"})


class Secretive(MCPOpenAgent):
    """Keeps results out of the output; only names of tools are passed on."""

    def _get_structured_results_for_agent_output(
        self, agent_input: AgentInput, current_tool_results: dict[str, AgentToolResult]
    ) -> list[list[dict[str, Any]]]:
        every = super()._get_structured_results_for_agent_output(agent_input, current_tool_results)
        return [[{**one, "result": "withheld"} for one in turn] for turn in every]


class Rememberer(MCPOpenAgent):
    """Changes `agent_input.slots` while it works, and shows them in the prompt."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prompt_template = "Desk: {{ slots.desk }}. Seen: {{ slots.seen }}."

    # The documentation names the parameter so, the host's code does not.
    async def process_input(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, agent_input: AgentInput
    ) -> AgentInput:
        agent_input.slots.append(AgentInputSlot(name="seen", value="nothing", type="text"))
        return agent_input

    async def _execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], agent_input: AgentInput | None = None
    ) -> AgentToolResult:
        assert agent_input is not None
        for slot in agent_input.slots:
            if slot.name == "seen":
                slot.value = arguments["item"]
        return await super()._execute_tool_call(tool_name, arguments, agent_input)


class Booker(MCPTaskAgent):
    """Turns a tool's result into the slot that ends its task."""

    async def process_input(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, agent_input: AgentInput
    ) -> AgentInput:
        agent_input.slots = [slot for slot in agent_input.slots if slot.name == "size"]
        return agent_input

    async def process_tool_output(
        self,
        current_iteration_tool_results: dict[str, AgentToolResult],
        cumulative_tool_results: dict[str, AgentToolResult],
        output_channel: OutputChannel | None = None,
    ) -> list[Event]:
        for result in current_iteration_tool_results.values():
            if result.tool_name == "look_up" and "B4" in (result.result or ""):
                return [SlotSet("size", "B4")]
        return []


class Tailor(MCPTaskAgent):
    """Tells the model which sizes there are."""

    @classmethod
    def get_slot_specific_set_slot_tool(cls, slot: AgentInputSlot) -> Definition:
        tool = deepcopy(super().get_slot_specific_set_slot_tool(slot))
        if slot.name == "size":
            value = tool["function"]["parameters"]["properties"]["slot_value"]
            value["enum"] = ["S", "M", "L"]
        return tool


class Farewell(MCPOpenAgent):
    """Closes formally."""

    @staticmethod
    def get_task_completed_tool() -> Definition:
        tool = deepcopy(MCPOpenAgent.get_task_completed_tool())
        tool["function"]["description"] = "Call once when the customer is served."
        return tool

    @staticmethod
    def get_system_message_for_empty_content_at_task_completion() -> dict[str, str]:
        return {"role": "system", "content": "Reply with one formal sentence. No tools."}


class Herald(MCPOpenAgent):
    """Says that it begins, before it does."""

    async def send_message(
        self, agent_input: AgentInput, output_channel: OutputChannel | None = None
    ) -> AgentOutput:
        begun = "Starting to work on your request..."
        assert output_channel is not None
        assert agent_input.recipient_id is not None
        await output_channel.send_text_message(agent_input.recipient_id, begun)
        output = await super().send_message(agent_input, output_channel=output_channel)
        output.events = [BotUttered(text=begun), *(output.events or [])]
        return output


class Historian(MCPOpenAgent):
    """Shows the model an example before the conversation."""

    def build_messages_for_llm_request(
        self, context: AgentInput, turns: int = 10
    ) -> list[dict[str, Any]]:
        system, *said = super().build_messages_for_llm_request(context, turns)
        example = [
            {"role": "user", "content": "Is there a vase?"},
            {"role": "assistant", "content": "There is, on A1."},
        ]
        return [system, *example, *said]


class Counter(MCPOpenAgent):
    """Has a Python tool with a secret, whose events set a slot."""

    def get_custom_tool_definitions(self) -> list[Definition]:
        schema = {
            "type": "object",
            "properties": {"item": {"type": "string"}, "count": {"type": "integer", "default": 3}},
            "required": ["item", "count"],
            "additionalProperties": False,
        }
        function = {"name": "charge", "description": "Charge.", "parameters": schema}
        return [
            {
                "type": "function",
                "function": {**function, "strict": True},
                "tool_executor": self.charge,
            }
        ]

    async def build_custom_tool_call_metadata(
        self, context: MCPOutboundCallContext
    ) -> OutboundCallResult:
        return OutboundCallResult(metadata={"account": f"account of {context.sender_id}"})

    async def charge(
        self, arguments: dict[str, Any], context: AgentToolContext
    ) -> tuple[AgentToolResult, list[Event]]:
        told = f"{arguments['count']} x {arguments['item']}: {context.metadata['account']}"
        return AgentToolResult(tool_name="charge", result=told), [SlotSet("desk", "till")]


class Butler(MCPOpenAgent):
    """Offers `reserve` to members only."""

    def get_available_tools(self, agent_input: AgentInput) -> list[Any]:
        tools = super().get_available_tools(agent_input)
        member = any(slot.name == "member" and slot.value for slot in agent_input.slots)
        return [tool for tool in tools if member or tool.name != "reserve"]
