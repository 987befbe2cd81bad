"""An agent whose tools run until the test lets them go."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentToolResult

__all__ = ["Dozing", "Napping", "Slow", "Wordy", "begun", "let_go"]

WAIT_SECONDS = 20.0

begun: list[str] = []
"""Texts and tools that have begun, in order; tests empty it."""

let_go = threading.Event()
"""Lets blocking tools go on."""


class Slow(MCPOpenAgent):
    """Has a tool that awaits and one that blocks its thread."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [_definition("await_it", _await_it), _definition("block_on_it", _block_on_it)]


async def _await_it(arguments: dict[str, Any], context: Any) -> AgentToolResult:
    begun.append("await_it")
    async with asyncio.timeout(WAIT_SECONDS):
        await asyncio.Event().wait()
    raise AssertionError("nobody lets it go")


def _block_on_it(arguments: dict[str, Any], context: Any) -> AgentToolResult:
    begun.append("block_on_it")
    let_go.wait(WAIT_SECONDS)
    return AgentToolResult(tool_name="block_on_it", result="done after all")


def _definition(name: str, executor: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    function = {"name": name, "description": f"The tool {name}.", "parameters": schema}
    return {"type": "function", "function": function, "tool_executor": executor}


class Wordy(MCPOpenAgent):
    """Has a tool with long results."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        tool = _definition("read_page", self._read)
        tool["function"]["parameters"]["properties"]["page"] = {"type": "string"}
        return [tool]

    async def _read(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        text = f"page {arguments['page']} " + "word " * 700
        return AgentToolResult(tool_name="read_page", result=text)


class Napping(MCPOpenAgent):
    """Has a tool that takes as long as it is told to."""

    tool = "nap"

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        tool = _definition(self.tool, self._sleep)
        tool["function"]["parameters"]["properties"]["seconds"] = {"type": "number"}
        return [tool]

    async def _sleep(self, arguments: dict[str, Any], context: Any) -> AgentToolResult:
        await asyncio.sleep(arguments["seconds"])
        return AgentToolResult(tool_name=self.tool, result="rested")


class Dozing(Napping):
    """The same under another name."""

    tool = "doze"
