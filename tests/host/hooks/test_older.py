"""Private helpers of the host that projects override: own execution, own generation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentInput, AgentToolResult
from rasa.core.channels import CollectingOutputChannel
from rasa.shared.core.events import BotUttered
from rasa.shared.providers.llm.llm_response import LLMResponse

from tests.host.hooks.play import AtWork, Script, calling, python_tool, results, said, then
from tests.host.turn import agent_input, take_turn

pytestmark = pytest.mark.host

seen: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


class Executing(MCPOpenAgent):
    """Looks at every call, answers one itself and refuses another."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        result = AgentToolResult(tool_name="wrap", result="wrapped")
        return [python_tool("wrap", lambda arguments, context: result)]

    async def _execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], agent_input: AgentInput | None = None
    ) -> AgentToolResult:
        seen.append((tool_name, arguments, agent_input.recipient_id if agent_input else None))
        if tool_name == "look_up":
            return AgentToolResult(tool_name=tool_name, result="from the cache")
        if tool_name == "fail":
            raise RuntimeError("not today")
        return await super()._execute_tool_call(tool_name, arguments, agent_input)


class Generating(MCPOpenAgent):
    """Asks the model in the host's way and counts."""

    async def generate_and_send_response(
        self, messages: Any, tools: Any, metadata: Any, agent_input: Any, output_channel: Any
    ) -> tuple[LLMResponse | None, BotUttered | None]:
        seen.append([message["role"] for message in messages])
        return await super().generate_and_send_response(
            messages, tools, metadata, agent_input, output_channel
        )


class Unable(MCPOpenAgent):
    """Cannot ask the model."""

    async def generate_and_send_response(
        self, messages: Any, tools: Any, metadata: Any, agent_input: Any, output_channel: Any
    ) -> tuple[LLMResponse | None, BotUttered | None]:
        raise ValueError("no model today")


async def test_execute_tool_call_sees_every_tool_and_super_runs_it(
    at_work: AtWork, script: Script, done: Counter[str]
) -> None:
    model = script(
        {
            "when": {"last": "user", "model": "agents"},
            "answer": {
                "calls": [
                    {"name": "look_up", "arguments": {"item": "lamp"}},
                    {"name": "reserve", "arguments": {"item": "lamp"}},
                    {"name": "wrap"},
                    {"name": "fail"},
                ]
            },
        },
        then(),
    )
    async with at_work(Executing) as agent:
        output = await take_turn(agent, agent_input())
    cached, reserved, wrapped, failed = results(model)
    assert (cached, wrapped) == ("from the cache", "wrapped")
    assert "reserved lamp" in reserved
    assert "not today" in failed
    assert done["look_up"] == 0
    assert done["reserve"] == 1
    assert sorted(name for name, _, _ in seen) == ["fail", "look_up", "reserve", "wrap"]
    assert {recipient for _, _, recipient in seen} == {"anna"}
    executed = [(e.tool_name, e.is_error) for e in output.events if e.type_name != "bot"]
    assert executed == [("look_up", False), ("reserve", False), ("wrap", False), ("fail", True)]


async def test_generate_and_send_response_asks_and_delivers_once(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("look_up", text="Let me look.", item="lamp"), then("On B4."))
    channel = CollectingOutputChannel()
    async with at_work(Generating) as agent:
        output = await take_turn(agent, agent_input(), output_channel=channel)
    assert [m["text"] for m in channel.messages] == ["Let me look.", "On B4."]
    assert said(output) == [("Let me look.", "filler_message"), ("On B4.", "input_required")]
    assert seen == [["system", "user"], ["system", "user", "assistant", "tool"]]
    assert model.request_count == 2


async def test_generate_and_send_response_that_raises_fails_the_turn(
    at_work: AtWork, script: Script
) -> None:
    script()
    async with at_work(Unable) as agent:
        output = await take_turn(agent, agent_input(), output_channel=CollectingOutputChannel())
    assert output.status.value == "fatal_error"
    assert "no model today" in output.error_message
