"""Servers that are down, tools that are not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.project import Project, loaded
from tests.host.refused import log_of, logs
from tests.host.store import store
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
STORE = "sub_agents: clerk: config.yml: connections: mcp_servers: store"


def filtered(project: Project, **filters: Any) -> Project:
    """The project whose agent has these filters on the store."""
    return project.with_agent(servers=[{"name": "store", **filters}])


async def test_d4_a_bot_starts_while_a_server_is_down_and_has_its_tools_when_it_comes_up(
    project: Project, script: Script
) -> None:
    model = script({"when": {"tools": ["task_completed"]}, "answer": "I am here."})
    late = Served(lambda: store(Counter()).streamable_http_app())
    down = project.having(servers={"store": late.url}).with_agent(max_retries=0)
    try:
        with logs() as captured:
            async with loaded(down) as agent:
                said = await agent.handle_text("start shop", sender_id="anna")
                assert [message["text"] for message in said] == ["I am here."]
                assert "look_up" not in model.tool_names()
                assert "store" in model.messages()[0]["content"]
                late.start()
                await _until_tools_are_back(agent, model)
        assert "down" in log_of(captured, "rasa_react_ext.mcp_pool.down")["event_info"]
    finally:
        late.stop()


async def _until_tools_are_back(agent: Any, model: ModelServer) -> None:
    """Talk until the tools are offered; the pool tries again after one and two seconds."""
    for turn in range(40):
        await agent.handle_text(f"and now? {turn}", sender_id="anna")
        if "look_up" in model.tool_names():
            return
    pytest.fail("the tools did not come back")


async def test_a_tool_that_no_server_has_is_told_once_with_the_nearest_names(
    project: Project, script: Script
) -> None:
    script({"when": {"tools": ["task_completed"]}, "answer": "Yes?"})
    misspelt = filtered(project, include_tools=["look_up", "lookup", "reserves"])
    with logs() as captured:
        async with loaded(misspelt) as agent:
            await agent.handle_text("start shop", sender_id="anna")
            await agent.handle_text("start booking", sender_id="berta")
    told = [log for log in captured if log["event"] == "rasa_react_ext.agent.unknown_tool"]
    assert [log["tool_name"] for log in told] == ["lookup", "reserves"]
    assert {log["log_level"] for log in told} == {"error"}
    assert f"{STORE}: include_tools: the server has no tool 'lookup'." in told[0]["event_info"]
    assert "'look_up'" in told[0]["event_info"]
    assert "'reserve'" in told[1]["event_info"]


async def test_an_excluded_tool_that_no_server_has_is_told_too(
    project: Project, script: Script
) -> None:
    model = script({"when": {"tools": ["task_completed"]}, "answer": "Yes?"})
    with logs() as captured:
        async with agent_at_work(filtered(project, exclude_tools=["failing", "meet"])) as agent:
            await take_turn(agent, agent_input())
    told = log_of(captured, "rasa_react_ext.agent.unknown_tool")
    assert f"{STORE}: exclude_tools: the server has no tool 'failing'." in told["event_info"]
    assert "'fail'" in told["event_info"]
    assert set(model.tool_names()) == {"look_up", "reserve", "fail", "task_completed"}


async def test_a_server_that_is_down_is_not_said_to_lack_a_tool(
    project: Project, script: Script, free_port: Callable[[], int]
) -> None:
    script({"when": {"tools": ["task_completed"]}, "answer": "Yes?"})
    gone = project.having(servers={"store": f"http://127.0.0.1:{free_port()}/mcp"})
    entry = {"name": "store", "include_tools": ["look_up"]}
    with logs() as captured:
        async with agent_at_work(gone.with_agent(servers=[entry], max_retries=0)) as agent:
            await take_turn(agent, agent_input())
    assert "rasa_react_ext.agent.unknown_tool" not in [log["event"] for log in captured]


async def test_a_wrong_address_is_told_and_the_agent_answers_without_the_tools(
    project: Project, script: Script, shop: Served
) -> None:
    model = script({"when": {"tools": ["task_completed"]}, "answer": "Yes?"})
    wrong = project.having(servers={"store": shop.url.replace("/mcp", "/mpc")})
    with logs() as captured:
        async with agent_at_work(wrong.with_agent(max_retries=0)) as agent:
            output = await take_turn(agent, agent_input())
    assert output.response_message == "Yes?"
    assert model.tool_names() == ["task_completed"]
    told = log_of(captured, "rasa_react_ext.mcp_pool.down")
    assert told["server_id"] == "store"
    assert "404" in told["event_info"]
