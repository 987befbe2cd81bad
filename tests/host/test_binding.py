"""With one line in config.yml, every kind of project runs on this engine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.project import Project, hosts_own_warnings, loaded
from tests.mcp_pool.mcp_server import Served

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]

MEET = [{"name": "meet", "arguments": {"count": 3, "guest": guest}} for guest in "abc"]
ANYTHING_ELSE = "Is there anything else I can help you with?"
SHOP = (
    {"when": {"last": "user", "tools": ["task_completed"]}, "answer": {"calls": MEET}},
    {
        "when": {"tool": "meet", "tools": ["task_completed"]},
        "answer": {"text": "All met.", "calls": [{"name": "task_completed"}]},
    },
)
BOOKING = (
    {
        "when": {"user": "large", "tools": ["set_slot_size"]},
        "answer": {"calls": [{"name": "set_slot_size", "arguments": {"slot_value": "L"}}]},
    },
    {"when": {"tools": ["set_slot_size"]}, "answer": "Which size?"},
)


async def test_d1_an_unchanged_project_runs_its_tools_at_once(
    project: Project, script: Script, done: Counter[str]
) -> None:
    script(*SHOP)
    async with loaded(project) as agent:
        assert await says(agent, "start shop") == ["All met.", "Come again."]
    # Each call waits for the others: one after the other they would have failed.
    assert done["meet"] == 3


async def test_d2_one_agent_serves_steps_with_and_without_exit_if(
    project: Project, script: Script
) -> None:
    model = script(*SHOP, *BOOKING)
    async with loaded(project) as agent:
        assert await says(agent, "start shop") == ["All met.", "Come again."]
        assert {"task_completed", "meet"} <= set(model.tool_names())
        assert await says(agent, "start booking") == ["Which size?"]
        assert "task_completed" not in model.tool_names()
        assert await says(agent, "large please") == ["Booked: L."]
        names = [type(one).__name__ for one in registered().values()]
    assert sorted(names) == ["MCPOpenAgent", "MCPTaskAgent"]


async def test_d2_a_users_open_agent_class_keeps_its_hooks_name_and_tools(
    project: Project, script: Script, hooks: list[str]
) -> None:
    model = script(
        {
            "when": {"last": "user", "tools": ["wrap"]},
            "answer": {
                "text": "One moment.",
                "calls": [
                    {"name": name, "arguments": {"word": "lamp"}}
                    for name in ("wrap", "sign", "weigh")
                ],
            },
        },
        {"when": {"tool": "weigh"}, "answer": "Wrapped, signed and weighed."},
    )
    async with loaded(project.with_agent(module="tests.host.user_agent.Clerk")) as agent:
        said = await says(agent, "start shop")
        tracker = await agent.tracker_store.retrieve("anna")
    assert said == ["One moment.", "Wrapped, signed and weighed."]
    assert {"process_input", "wrap", "sign", "weigh", "process_tool_output"} <= set(hooks)
    results = [m["content"] for m in model.messages() if m["role"] == "tool"]
    assert results == ["wrapped lamp", "signed lamp", "weighed lamp"]
    assert model.messages()[0]["content"].endswith("Be brief, as Clerk is.")
    assert tracker.get_slot("desk") == "sign,weigh,wrap"
    assert sources(tracker) == {"Clerk"}


async def test_d2_a_users_task_agent_class_keeps_its_hooks_and_name(
    project: Project, script: Script, hooks: list[str]
) -> None:
    model = script(*BOOKING)
    async with loaded(project.with_agent(module="tests.host.user_agent.Booker")) as agent:
        assert await says(agent, "start booking") == ["Which size?"]
        tools = (model.last.body or {})["tools"]
        assert await says(agent, "large please") == ["Booked: L."]
        tracker = await agent.tracker_store.retrieve("anna")
    set_size = next(t["function"] for t in tools if t["function"]["name"] == "set_slot_size")
    assert set_size["description"] == "Booker notes it."
    assert set_size["parameters"]["properties"]["slot_value"]["type"] == "string"
    assert {"process_input", "get_slot_specific_set_slot_tool"} <= set(hooks)
    assert sources(tracker) == {"Booker"}


async def test_d1_a_load_that_never_connects_the_agents_works_as_well(
    project: Project, script: Script, done: Counter[str]
) -> None:
    script(*SHOP)
    async with loaded(project, prepared=False) as agent:
        assert await says(agent, "start shop") == ["All met.", "Come again."]
    assert done["meet"] == 3


def test_d1_the_e2e_runner_disconnects_and_goes_on_in_a_second_event_loop(
    project: Project, script: Script, shop: Served, done: Counter[str], tmp_path: Path
) -> None:
    from rasa.e2e_test.e2e_test_runner import E2ETestRunner
    from rasa.e2e_test.utils.io import read_test_cases
    from rasa.shared.agents.agent_setup import AgentsConnectionCleanup

    script(*SHOP)
    stories = tmp_path / "stories.yml"
    stories.write_text(STORIES, encoding="utf-8")
    archive = asyncio.run(project.train())
    endpoints = project.open().endpoints
    endpoints.tracker_store = endpoints.lock_store = endpoints.event_broker = None
    with hosts_own_warnings():
        suite = read_test_cases(str(stories))
        runner = E2ETestRunner(model_path=str(archive), endpoints=endpoints, test_case_path=stories)

        async def run() -> Any:
            async with AgentsConnectionCleanup():
                return await runner.run_tests(suite.test_cases, suite.fixtures_per_test, False)

        results = asyncio.run(run())
    assert [(r.pass_status, r.assertion_failure, r.difference) for r in results] == [
        (True, None, [])
    ]
    assert done["meet"] == 3
    assert shop.seen["initialize"] == shop.seen["DELETE"]


async def says(agent: Any, text: str) -> list[str]:
    """What the assistant answers."""
    said = [message["text"] for message in await agent.handle_text(text, sender_id="anna")]
    return [text for text in said if text != ANYTHING_ELSE]


def sources(tracker: Any) -> set[str]:
    """The utter sources of what agents said."""
    uttered = [event.metadata for event in tracker.events if event.type_name == "bot"]
    return {metadata["utter_source"] for metadata in uttered if "agent_name" in metadata}


def registered() -> dict[str, Any]:
    """The agents the host would call, by identifier."""
    from rasa.agents.agent_manager import AgentManager

    return AgentManager().agents


@pytest.fixture
def hooks() -> Iterator[list[str]]:
    """The hooks that ran."""
    from tests.host import user_agent

    user_agent.called.clear()
    yield user_agent.called
    user_agent.called.clear()


STORIES = """
test_cases:
  - test_case: three meet
    steps:
      - user: start shop
        assertions:
          - flow_started: shop
          - bot_uttered: {text_matches: All met.}
          - flow_completed: {flow_id: shop}
"""
