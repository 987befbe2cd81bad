"""Agents of the channel tests: their tools wait until the test has heard what came before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentToolResult

__all__ = ["Booking", "Door", "Knocking", "door"]

WAIT_SECONDS = 10.0


@dataclass
class Door:
    """What user and tools did, in order; and whether the tools may go on.

    Attributes:
        heard: Texts as the user got them, and tools in `[…]`.
        opened: Tools wait for it.
        knocked: A tool has begun to wait.
    """

    heard: list[str] = field(default_factory=list)
    opened: asyncio.Event = field(default_factory=asyncio.Event)
    knocked: asyncio.Event = field(default_factory=asyncio.Event)

    def renew(self) -> None:
        """Close it again, in the event loop of another test."""
        self.heard.clear()
        self.opened, self.knocked = asyncio.Event(), asyncio.Event()


door = Door()


def _definition(name: str, executor: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    function = {"name": name, "description": f"The tool {name}.", "parameters": schema}
    return {"type": "function", "function": function, "tool_executor": executor}


class _Doors:
    """Two tools: one waits at the door, one finds it locked."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [_definition("knock", self._knock), _definition("slam", self._slam)]

    async def _knock(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        door.heard.append("[knock]")
        door.knocked.set()
        async with asyncio.timeout(WAIT_SECONDS):
            await door.opened.wait()
        return AgentToolResult(tool_name="knock", result="somebody is in")

    async def _slam(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        door.heard.append("[slam]")
        return AgentToolResult(tool_name="slam", is_error=True, error_message="it is locked")


class Knocking(_Doors, MCPOpenAgent):
    """A general-purpose agent with these tools."""


class Booking(_Doors, MCPTaskAgent):
    """A task agent with these tools."""
