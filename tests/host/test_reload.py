"""A model loaded in the place of another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing import ModelServer
from tests.host.project import Project, loaded
from tests.mcp_pool.mcp_server import Served

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
HELLO = {"when": {"tools": ["task_completed"]}, "answer": "How can I help?"}


async def test_d1_a_reload_brings_the_new_values_and_leaks_no_session(
    project: Project, script: Script, shop: Served
) -> None:
    model = script(HELLO)
    changed = project.with_agent(
        servers=[{"name": "store", "exclude_tools": ["fail"]}], description="Sells lamps."
    ).having(section={"agents": {"clerk": {"max_steps": 4}}})
    async with loaded(project) as agent:
        assert await answer(agent, "start shop") == "How can I help?"
        assert "fail" in model.tool_names()
        async with loaded(changed) as newer:
            assert await answer(newer, "start shop") == "How can I help?"
            assert "fail" not in model.tool_names()
            assert "look_up" in model.tool_names()
            assert {one.settings.max_steps for one in registered().values()} == {4}
    assert shop.seen["initialize"] == 1
    assert shop.seen["DELETE"] == 1


async def test_d1_a_reload_that_is_refused_leaves_the_old_agents_at_work(
    project: Project, script: Script
) -> None:
    script(HELLO)
    async with loaded(project) as agent:
        before = dict(registered())
        with pytest.raises(ConfigurationError, match="timeout"):
            async with loaded(project.with_agent(timeout=-1)):
                pass
        assert registered() == before
        assert await answer(agent, "start shop") == "How can I help?"


async def test_d1_an_agent_that_is_gone_after_a_reload_is_no_longer_registered(
    project: Project, script: Script
) -> None:
    script(HELLO)
    async with loaded(project.with_agent("porter")):
        assert {agent.name for agent in registered().values()} == {"clerk", "porter"}
        async with loaded(project):
            assert {agent.name for agent in registered().values()} == {"clerk"}


async def answer(agent: Any, text: str) -> str:
    """What the assistant answers, as one text."""
    said = await agent.handle_text(text, sender_id="anna")
    return "\n".join(message["text"] for message in said)


def registered() -> dict[str, Any]:
    """The agents the host would call, by identifier."""
    from rasa.agents.agent_manager import AgentManager

    return AgentManager().agents
