"""Agent classes as users of the host write them."""

from __future__ import annotations

from typing import Any

from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentInput, AgentToolContext, AgentToolResult
from rasa.shared.core.events import Event, SlotSet

__all__ = ["Booker", "Clerk", "Forgetful", "Patient", "Plain", "called", "seen"]

called: list[str] = []
"""Names of the hooks that ran, in order; tests empty it."""

seen: list[dict[str, Any]] = []
"""Metadata that hooks and tools were given; tests empty it."""


def python_tool(name: str, executor: Any) -> dict[str, Any]:
    """The definition of a Python tool with one text parameter."""
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"The tool {name}.",
            "parameters": {
                "type": "object",
                "properties": {"word": {"type": "string"}},
                "required": ["word"],
                "additionalProperties": False,
            },
        },
        "tool_executor": executor,
    }


class Clerk(MCPOpenAgent):
    """A general-purpose agent with hooks and Python tools of every form."""

    async def process_input(self, input: AgentInput) -> AgentInput:
        """Look at the input, then leave it to the parent class."""
        called.append("process_input")
        seen.append(dict(input.metadata))
        return await super().process_input(input)

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        """Three tools beside those of the parent class."""
        return [
            *super().get_custom_tool_definitions(),
            python_tool("wrap", self._wrap),
            python_tool("sign", self._sign),
            python_tool("weigh", _weigh),
        ]

    async def _wrap(self, arguments: dict[str, Any], context: AgentToolContext) -> AgentToolResult:
        called.append("wrap")
        seen.append(dict(context.metadata))
        return AgentToolResult(tool_name="wrap", result=f"wrapped {arguments['word']}")

    def _sign(self, arguments: dict[str, Any], context: AgentToolContext) -> AgentToolResult:
        called.append("sign")
        return AgentToolResult(tool_name="sign", result=f"signed {arguments['word']}")

    async def process_tool_output(
        self,
        current_tool_results: dict[str, AgentToolResult],
        cumulative_tool_results: dict[str, AgentToolResult],
        output_channel: Any = None,
    ) -> list[Event]:
        """Note the results in a slot."""
        called.append("process_tool_output")
        events = await super().process_tool_output(
            current_tool_results, cumulative_tool_results, output_channel
        )
        names = ",".join(sorted(result.tool_name for result in current_tool_results.values()))
        return [*events, SlotSet("desk", names)]

    def build_messages_for_llm_request(
        self, context: AgentInput, turns: int = 10
    ) -> list[dict[str, Any]]:
        """The parent's messages with one more line in the prompt."""
        called.append("build_messages_for_llm_request")
        messages = super().build_messages_for_llm_request(context, turns)
        messages[0]["content"] += "\nBe brief, as Clerk is."
        return messages


def _weigh(arguments: dict[str, Any]) -> AgentToolResult:
    """A tool of the older form: it takes arguments only."""
    called.append("weigh")
    return AgentToolResult(tool_name="weigh", result=f"weighed {arguments['word']}")


class Booker(MCPTaskAgent):
    """A task agent whose set-slot tool has words of its own."""

    async def process_input(self, input: AgentInput) -> AgentInput:
        """Look at the input, then leave it to the parent class."""
        called.append("process_input")
        return await super().process_input(input)

    @classmethod
    def get_slot_specific_set_slot_tool(cls, slot: Any) -> dict[str, Any]:
        """The parent's definition with another description."""
        called.append("get_slot_specific_set_slot_tool")
        tool = super().get_slot_specific_set_slot_tool(slot)
        tool["function"]["description"] = "Booker notes it."
        return tool


class Forgetful(MCPTaskAgent):
    """Shows the model none of the conversation's slots."""

    async def process_input(self, input: AgentInput) -> AgentInput:
        """Drop every slot."""
        input.slots = []
        return input


class Patient(MCPOpenAgent):
    """May ask the model three times in a turn."""

    MAX_ITERATIONS = 3


class Plain:
    """No agent at all."""
