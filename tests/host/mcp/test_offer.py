"""What providers are offered, and calls that take their time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

from rasa_react_ext.host.mcp.offer import MANY_TOOLS, fit_provider
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import calling, results, then
from tests.host.project import Project
from tests.host.refused import log_of, logs
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served, serving

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
RARE = {"type": "object", "properties": {"day": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}


@pytest.fixture
def serve() -> Callable[[FastMCP], AbstractContextManager[Served]]:
    return lambda server: serving(server.streamable_http_app)


def definition(name: str) -> Mapping[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": RARE, "strict": True}}


def agent_with(client: Any) -> Any:
    """As much of an agent as an offer looks at."""
    process = SimpleNamespace(first_time=lambda *what: True)
    return SimpleNamespace(name="clerk", llm_client=client, process=process)


@pytest.mark.parametrize(
    "client",
    [
        SimpleNamespace(provider="gemini", model="gemini-2.5-flash"),
        SimpleNamespace(provider="vertex_ai", model="gemini-2.5-pro"),
        SimpleNamespace(provider="openai", model="gemini-2.5-flash"),
        SimpleNamespace(
            model_configurations=[
                {"litellm_params": {"model": "openai/gpt-4o"}},
                {"litellm_params": {"model": "gemini/gemini-2.5-flash"}},
            ]
        ),
    ],
    ids=["gemini", "vertex", "an address that speaks OpenAI's format", "router"],
)
def test_b50_gemini_models_get_schemas_in_their_dialect(client: Any) -> None:
    (offered,) = fit_provider(agent_with(client), [definition("look")])
    day = offered["function"]["parameters"]["properties"]["day"]
    assert day == {"type": "string", "nullable": True}
    assert "strict" not in offered["function"]


@pytest.mark.parametrize(
    "client",
    [
        SimpleNamespace(provider="openai", model="gpt-4o"),
        SimpleNamespace(provider="vertex_ai", model="claude-sonnet"),
        object(),
    ],
    ids=["openai", "claude on vertex", "a project's own"],
)
def test_b50_other_models_get_schemas_as_they_are(client: Any) -> None:
    definitions = [definition("look")]
    assert fit_provider(agent_with(client), definitions) is definitions


async def test_d4_more_tools_than_providers_take_are_warned_about_once(
    project: Project, script: Script, serve: Callable[[FastMCP], Any]
) -> None:
    server = FastMCP("many", log_level="CRITICAL")
    for number in range(MANY_TOOLS):
        server.add_tool(lambda: "", name=f"tool_{number}", description="One of many.")
    script({"when": {"model": "agents"}, "answer": "So many."})
    with serve(server) as served, logs() as captured:
        ours = project.having(servers={"store": served.url})
        async with agent_at_work(ours) as agent:
            for _ in range(2):
                await take_turn(agent, agent_input("hello"))
    log = log_of(captured, "rasa_react_ext.agent.many_tools")
    assert log["count"] == MANY_TOOLS + 1
    assert "include_tools" in log["event_info"]


@pytest.fixture
def kitchen(serve: Callable[[FastMCP], Any]) -> Iterator[Served]:
    """A server whose tool reports progress while it works."""
    server = FastMCP("kitchen", log_level="CRITICAL")

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    async def cook(context: Context[Any, Any, Any], steps: int) -> str:
        """Cook a meal of so many steps."""
        for step in range(steps):
            await asyncio.sleep(0.2)
            await context.report_progress(step, steps)
        return "done"

    with serve(server) as served:
        yield served


async def test_b69_a_tool_that_reports_progress_may_take_longer_than_its_time_limit(
    project: Project, script: Script, kitchen: Served
) -> None:
    model = script(calling("cook", steps=8), then("Enjoy."))
    ours = project.having(servers={"store": kitchen.url}).with_agent(tool_timeout=0.8)
    async with agent_at_work(ours) as agent:
        await take_turn(agent, agent_input("I am hungry"))
    assert results(model) == ["done"]


async def test_b69_progress_without_end_ends_with_the_agents_turn(
    project: Project, script: Script, kitchen: Served
) -> None:
    script(calling("cook", steps=1_000), then("It takes too long."))
    ours = project.having(servers={"store": kitchen.url}).with_agent(tool_timeout=0.8, timeout=3)
    async with agent_at_work(ours) as agent, asyncio.timeout(10):
        output = await take_turn(agent, agent_input("I am hungry"))
    (executed,) = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert executed.is_error
    assert executed.metadata["duration_ms"] < 3_000


async def test_b69_a_hook_for_credentials_that_hangs_is_cut_at_the_tools_time_limit(
    project: Project, script: Script, kitchen: Served
) -> None:
    model = script(calling("cook", steps=1), then("Not today."))
    ours = project.having(
        servers={"store": kitchen.url}, params={"store": {"pre_call_hook": f"{__name__}.hang"}}
    ).with_agent(tool_timeout=0.3)
    async with agent_at_work(ours) as agent, asyncio.timeout(10):
        await take_turn(agent, agent_input("I am hungry"))
    assert "no answer within 0.3 seconds" in results(model)[0]


async def hang(context: Any) -> Any:
    """A hook that never comes back."""
    await asyncio.Event().wait()
