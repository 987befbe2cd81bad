"""`build_custom_tool_call_metadata`: secrets for a call, fetched when it is made."""

from __future__ import annotations

from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentToolContext, AgentToolResult
from rasa.shared.agents.outbound_call_hook import MCPOutboundCallContext, OutboundCallResult

from tests.host.hooks.play import AtWork, Script, calling, python_tool, results, then
from tests.host.refused import logs
from tests.host.turn import agent_input, take_turn

pytestmark = pytest.mark.host

SECRET = "sesame-8841"
seen: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


class Vault(MCPOpenAgent):
    """Fetches credentials over the network, as documented."""

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        return [python_tool("open_door", self._open_door)]

    async def _open_door(self, arguments: dict[str, Any], context: AgentToolContext) -> Any:
        seen.append(dict(context.metadata))
        return AgentToolResult(tool_name="open_door", result="open")

    async def build_custom_tool_call_metadata(
        self, context: MCPOutboundCallContext
    ) -> OutboundCallResult:
        seen.append(context)
        return OutboundCallResult(metadata={"key": SECRET, "customer": "silver"})


class Plain(Vault):
    """The same without `async`, returning a dict."""

    def build_custom_tool_call_metadata(self, context: MCPOutboundCallContext) -> Any:
        return {"key": SECRET}


class Locked(Vault):
    """Cannot fetch credentials."""

    async def build_custom_tool_call_metadata(self, context: MCPOutboundCallContext) -> Any:
        raise ConnectionError(f"vault refused {SECRET}")


class Odd(Vault):
    """Returns something that is no metadata."""

    def build_custom_tool_call_metadata(self, context: MCPOutboundCallContext) -> Any:
        return SECRET


async def test_build_custom_tool_call_metadata_reaches_the_executor_and_nobody_else(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("open_door"), then())
    async with at_work(Vault) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input(customer="gold", agent_id="store"))
    context, metadata = seen
    assert (context.sender_id, context.tool_name) == ("anna", "open_door")
    assert (metadata["key"], metadata["customer"]) == (SECRET, "silver")
    assert metadata["agent_id"] == "store"
    everything = [log, [request.body for request in model.requests], output.model_dump()]
    assert SECRET not in repr(everything)
    # Key names are logged, as documented.
    assert "'key'" in repr(log)


async def test_build_custom_tool_call_metadata_may_be_synchronous_and_return_a_dict(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("open_door"), then())
    async with at_work(Plain) as agent:
        await take_turn(agent, agent_input())
    assert seen[0]["key"] == SECRET
    assert results(model) == ["open"]


@pytest.mark.parametrize("user_class", [Locked, Odd])
async def test_build_custom_tool_call_metadata_that_fails_aborts_the_call_and_tells_no_secret(
    at_work: AtWork, script: Script, user_class: type
) -> None:
    model = script(calling("open_door"), then("I cannot open it."))
    async with at_work(user_class) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input())
    assert seen == [], "the executor must not run"
    assert "build_custom_tool_call_metadata failed" in results(model)[0]
    executed = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert [event.is_error for event in executed] == [True]
    assert output.status.value == "input_required"
    assert [e for e in log if e["event"].endswith("python_tool.failed")]
    assert SECRET not in repr([log, model.messages(), executed[0].as_dict()])
