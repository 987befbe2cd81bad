"""Servers that ask the agent's model something in the middle of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp import types
from mcp.server.fastmcp import Context, FastMCP
from mcp.shared.exceptions import McpError

from rasa_react_ext.host.chat.length import length_limit
from rasa_react_ext.host.mcp.sampling import MAX_PROMPT_CHARS
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import calling, results, then
from tests.host.project import Project
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served, serving

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
Ctx = Context[Any, Any, Any]
SUMS_UP = {
    "when": {"model": "agents", "system": "Be brief."},
    "answer": "All is well.",
}


def editing() -> FastMCP:
    server = FastMCP("editing", log_level="CRITICAL")

    async def asked(context: Ctx, *texts: str, max_tokens: int = 100) -> str:
        messages = [
            types.SamplingMessage(role="user", content=types.TextContent(type="text", text=text))
            for text in texts
        ]
        try:
            answer = await context.session.create_message(
                messages,
                max_tokens=max_tokens,
                system_prompt="Be brief.",
                related_request_id=context.request_id,
            )
        except McpError as error:
            return error.error.message
        assert isinstance(answer.content, types.TextContent)
        return f"{answer.content.text} ({answer.stopReason})"

    @server.tool()
    async def summarise(context: Ctx, times: int = 1, max_tokens: int = 100) -> str:
        """Sum up."""
        told = [await asked(context, "Sum", "up.", max_tokens=max_tokens) for _ in range(times)]
        return " | ".join(told)

    @server.tool()
    async def summarise_book(context: Ctx) -> str:
        """Sum up something huge."""
        return await asked(context, "x" * (MAX_PROMPT_CHARS + 1))

    @server.tool()
    async def knows(context: Ctx) -> str:
        """Say what the client said it can do."""
        wanted = types.ClientCapabilities(sampling=types.SamplingCapability())
        return str(context.session.check_client_capability(wanted))

    return server


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(lambda: editing().streamable_http_app()) as running:
        yield running


async def heard(project: Project, served: Served, model: ModelServer, **settings: Any) -> list[str]:
    """Results of one turn with these settings."""
    ours = project.having(servers={"store": served.url})
    async with agent_at_work(ours, settings=settings) as agent, asyncio.timeout(20):
        await take_turn(agent, agent_input("hello"))
    return results(model)


async def test_d4_2_by_default_no_server_is_answered_by_a_model(
    project: Project, script: Script, served: Served
) -> None:
    model = script(SUMS_UP, calling("summarise"), then())
    told = await heard(project, served, model)
    assert told == ["Declined by the client: no model is offered to servers."]
    assert len(model.requests) == 2


async def test_d4_2_the_agents_own_model_answers_without_tools_and_bounded(
    project: Project, script: Script, served: Served
) -> None:
    model = script(SUMS_UP, calling("summarise", max_tokens=5000), then())
    told = await heard(project, served, model, sampling="on", sampling_max_tokens=70)
    assert told == ["All is well. (endTurn)"]
    body = model.requests[1].body
    assert body is not None
    assert "tools" not in body
    assert body["max_completion_tokens"] == 70
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Sum\nup."},
    ]


async def test_d4_2_a_call_gets_only_so_many_answers(
    project: Project, script: Script, served: Served
) -> None:
    model = script(SUMS_UP, calling("summarise", times=3), then())
    (told,) = await heard(project, served, model, sampling="on", sampling_max_calls=2)
    assert told.split(" | ") == [
        "All is well. (endTurn)",
        "All is well. (endTurn)",
        "Declined by the client: the model answers 2 times in one call.",
    ]


async def test_d4_2_more_than_a_model_should_read_is_declined(
    project: Project, script: Script, served: Served
) -> None:
    model = script(SUMS_UP, calling("summarise_book"), then())
    (told,) = await heard(project, served, model, sampling="on")
    assert told == f"Declined by the client: more than {MAX_PROMPT_CHARS} characters were sent."


async def test_d4_2_a_model_that_fails_costs_the_servers_question_only(
    project: Project, script: Script, served: Served
) -> None:
    broken = {"when": SUMS_UP["when"], "fault": {"status": 400}}
    model = script(broken, calling("summarise"), then())
    (told,) = await heard(project, served, model, sampling="on")
    assert told == "Declined by the client: answering failed (ModelError)."


async def test_d4_2_an_answer_that_was_cut_off_says_so(
    project: Project, script: Script, served: Served
) -> None:
    cut = {"when": SUMS_UP["when"], "answer": {"text": "All is", "finish_reason": "length"}}
    model = script(cut, calling("summarise"), then())
    assert await heard(project, served, model, sampling="on") == ["All is (maxTokens)"]


@pytest.mark.parametrize(("setting", "told"), [("on", "True"), ("off", "False")])
async def test_d4_2_a_server_is_told_of_a_model_only_where_there_is_one_for_it(
    project: Project, script: Script, served: Served, setting: str, told: str
) -> None:
    model = script(calling("knows"), then())
    assert await heard(project, served, model, sampling=setting) == [told]


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        ({"model": "openai/gpt-4o"}, {"max_tokens": 50}),
        ({"model": "openai/gpt-5-mini"}, {"max_completion_tokens": 50}),
        ({"model": "o3"}, {"max_completion_tokens": 50}),
        ({"model": "openai/gpt-4o", "max_tokens": 20}, {"max_tokens": 20}),
        ({"model": "x", "max_completion_tokens": 90}, {"max_completion_tokens": 50}),
    ],
)
def test_d4_2_the_limit_of_an_answer_has_the_name_the_model_knows(
    arguments: dict[str, Any], limit: dict[str, int]
) -> None:
    assert length_limit(arguments, 50) == limit
    assert length_limit(arguments, None) == {}
