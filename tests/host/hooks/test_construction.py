"""Class constants, constructors and what is replaced after them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentToolResult
from rasa.shared.providers.llm.llm_response import LLMResponse, LLMToolCall
from rasa.shared.utils.llm import llm_factory

from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import AtWork, Script, calling, python_tool, results, said, then
from tests.host.turn import agent_input, take_turn

pytestmark = pytest.mark.host

LOOK = {"calls": [{"name": "look_up", "arguments": {"item": "lamp {{ step }}"}}]}
asked: list[Any] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    asked.clear()


class Patient(MCPOpenAgent):
    """May ask twice; its tools have no time."""

    MAX_ITERATIONS = 2
    TOOL_CALL_DEFAULT_TIMEOUT = 0.2

    def get_custom_tool_definitions(self) -> list[dict[str, Any]]:
        async def never(arguments: dict[str, Any], context: Any) -> AgentToolResult:
            await asyncio.Event().wait()
            raise AssertionError("it was waited for")

        return [python_tool("never", never)]


class Passing(MCPOpenAgent):
    """Passes everything on."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.greeting = f"I am {self._name}."


class Named(MCPOpenAgent):
    """Names every parameter, as the host's signature has them, and changes one."""

    def __init__(
        self,
        name: str,
        description: str,
        protocol_type: Any,
        server_configs: Any,
        llm_config: dict[str, Any] | None = None,
        prompt_template: str | None = None,
        timeout: int | None = None,
        max_retries: int | None = None,
        include_date_time: bool | None = None,
        timezone: str | None = None,
        enable_filler_messages: bool | None = None,
        tool_timeout: float | None = None,
    ) -> None:
        super().__init__(
            name,
            f"{description} With a smile.",
            protocol_type,
            server_configs,
            llm_config,
            prompt_template,
            timeout,
            max_retries,
            include_date_time,
            timezone,
            enable_filler_messages,
            tool_timeout,
        )


class Factory(MCPOpenAgent):
    """Takes another model of the host's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        config = {**self._llm_config, "models": [{**self._llm_config["models"][0]}]}
        config["models"][0]["model"] = "other-agents"
        self.llm_client = llm_factory(config["models"][0], {})


class OwnClient:
    """A client that promises no more than the host's protocol."""

    async def acompletion(self, messages: Any, **more: Any) -> LLMResponse:
        asked.append((messages, more))
        if len(asked) == 1:
            call = LLMToolCall(id="c1", tool_name="look_up", tool_args={"item": "lamp"})
            return LLMResponse(id="1", choices=["Let me look."], created=0, tool_calls=[call])
        return LLMResponse(id="2", choices=["On B4."], created=0)


class Owning(MCPOpenAgent):
    """Asks through a client of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.llm_client = OwnClient()


class Down(MCPOpenAgent):
    """Asks through a client that fails."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.llm_client = _Refusing()


class _Refusing:
    async def acompletion(self, messages: Any, **more: Any) -> LLMResponse:
        asked.append(messages)
        raise ValueError("no more tokens")


async def test_max_iterations_bounds_the_steps_and_tool_call_default_timeout_a_call(
    at_work: AtWork, script: Script
) -> None:
    model = script(
        {"when": {"model": "agents", "tool_choice": "none"}, "answer": "So far."},
        {"when": {"model": "agents", "step": 1}, "answer": {"calls": [{"name": "never"}]}},
        {"when": {"model": "agents"}, "answer": LOOK},
    )
    async with at_work(Patient) as agent:
        output = await take_turn(agent, agent_input())
    assert model.request_count == 3
    assert "no answer within 0.2 seconds" in results(model)[0]
    assert (output.status.value, output.response_message) == ("input_required", "So far.")


async def test_tool_call_default_timeout_yields_to_the_configured_one(
    at_work: AtWork, script: Script
) -> None:
    model = script(calling("never"), then())
    async with at_work(Patient, tool_timeout=0.1) as agent:
        await take_turn(agent, agent_input())
    assert "no answer within 0.1 seconds" in results(model)[0]


async def test_init_that_passes_everything_on_works(at_work: AtWork, script: Script) -> None:
    script({"when": {"model": "agents"}, "answer": "Hello."})
    async with at_work(Passing, enable_filler_messages=False, timezone="Asia/Tokyo") as agent:
        output = await take_turn(agent, agent_input())
        assert agent.greeting == "I am clerk."
        assert agent.fillers is False
    assert output.response_message == "Hello."


async def test_init_with_the_hosts_named_parameters_works(at_work: AtWork, script: Script) -> None:
    model = script({"when": {"model": "agents"}, "answer": "Hello."})
    async with at_work(Named) as agent:
        output = await take_turn(agent, agent_input())
    assert output.response_message == "Hello."
    assert "Serves in the shop. With a smile." in model.messages()[0]["content"]


async def test_llm_client_of_the_hosts_factory_is_asked_in_place_of_the_configured_one(
    at_work: AtWork, script: Script
) -> None:
    model: ModelServer = script({"when": {"model": "other-agents"}, "answer": "Hello."})
    async with at_work(Factory) as agent:
        output = await take_turn(agent, agent_input())
    assert output.response_message == "Hello."
    assert model.request_count == 1


async def test_llm_client_of_the_users_own_is_asked_as_the_host_asks_it(
    at_work: AtWork, script: Script
) -> None:
    from rasa.core.channels import CollectingOutputChannel

    model = script()
    channel = CollectingOutputChannel()
    async with at_work(Owning) as agent:
        output = await take_turn(agent, agent_input(), output_channel=channel)
    assert model.request_count == 0
    assert [m["text"] for m in channel.messages] == ["Let me look.", "On B4."]
    assert said(output) == [("Let me look.", "filler_message"), ("On B4.", "input_required")]
    messages, more = asked[1]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert "look_up" in [tool["function"]["name"] for tool in more["tools"]]


async def test_llm_client_of_the_users_own_that_fails_is_asked_again_and_then_fails_the_turn(
    at_work: AtWork,
) -> None:
    async with at_work(Down, settings={"model_retries": 1}) as agent:
        output = await take_turn(agent, agent_input())
    assert len(asked) == 2
    assert output.status.value == "fatal_error"
    assert "no more tokens" in output.error_message
