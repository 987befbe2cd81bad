"""Huge results: cut for the model, whole for the project, to be paged in later turns too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent

from rasa_react_ext.engine.source import ResultStore
from rasa_react_ext.host.mcp.results import ResultStores
from rasa_react_ext.host.settings import read_settings
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import calling, results, then
from tests.host.project import Project
from tests.host.refused import refused
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served, serving

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
PAGES = "".join(f"{number:07d} " for number in range(12_500))
seen: list[str] = []


class Curious(MCPOpenAgent):
    """Looks at what its tools gave."""

    async def process_tool_output(self, current: Any, cumulative: Any, channel: Any = None) -> Any:
        seen.extend(result.result for result in current.values())
        return []


@pytest.fixture
def library() -> Iterator[Served]:
    """A server with a long book."""

    def build() -> Any:
        server = FastMCP("library", log_level="CRITICAL")

        @server.tool(annotations=ToolAnnotations(readOnlyHint=True), structured_output=False)
        async def book() -> str:
            """The whole book."""
            return PAGES

        return server.streamable_http_app()

    with serving(build) as served:
        yield served


async def test_b76_a_huge_result_is_cut_for_the_model_and_whole_for_the_project(
    project: Project, script: Script, library: Served
) -> None:
    seen.clear()
    model = script(calling("book"), then("Long."))
    ours = project.having(servers={"store": library.url}).with_agent(module=f"{__name__}.Curious")
    async with agent_at_work(ours, settings={"result_limit_chars": 2_000}) as agent:
        output = await take_turn(agent, agent_input("read"))
    shown = results(model)[0]
    assert len(shown) < 2_200
    assert shown.startswith("0000000 ")
    assert shown.endswith("0012499 ")
    assert "98000 of 100000 characters left out" in shown
    assert seen == [PAGES]
    (executed,) = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert executed.result == PAGES
    assert output.structured_results == [[{"name": "book", "result": PAGES}]]
    assert "read_result" in model.tool_names()


async def test_b76_the_rest_can_be_read_in_a_later_turn_of_the_run(
    project: Project, script: Script, library: Served
) -> None:
    model = script(calling("book"), then("Long."))
    ours = project.having(servers={"store": library.url})
    async with agent_at_work(ours) as agent:
        first = await take_turn(agent, agent_input("read"))
        note = re.search(r'read_result\(id="(\w+)", offset=(\d+)\)', results(model)[0])
        assert note is not None
        page = {"id": note[1], "offset": int(note[2])}
        model.use([calling("read_result", **page), then("More.")])
        second = await take_turn(agent, agent_input("go on", **(first.metadata or {})))
        assert results(model)[-1].endswith(PAGES[page["offset"] : page["offset"] + 8_000])
        agent.process.results = ResultStores()  # as in another process
        await take_turn(agent, agent_input("and on", **(second.metadata or {})))
        assert "no longer stored" in results(model)[-1]


async def test_b76_a_run_that_ended_leaves_nothing(
    project: Project, script: Script, library: Served
) -> None:
    bye = {"text": "Bye.", "calls": [{"name": "task_completed"}]}
    script(calling("book"), then(bye))
    ours = project.having(servers={"store": library.url})
    async with agent_at_work(ours) as agent:
        await take_turn(agent, agent_input("read"))
        assert agent.process.results.size == 0


def test_b76_stores_of_runs_used_longest_ago_go_first() -> None:
    stores = ResultStores(max_chars=100)
    for run in "abc":
        store = stores.take(run, limit_chars=1_000)
        store.keep(run * 40)
        stores.give(run, store)
    assert stores.size == 80
    assert [len(stores.take(run, limit_chars=1_000)) for run in "abc"] == [0, 1, 1]
    large = ResultStore()
    large.keep("x" * 500)
    stores.give("d", large)
    assert stores.size == 500, "the newest may be larger alone"


def test_b76_a_limit_that_shows_nothing_is_refused() -> None:
    with refused(file="config.yml", key="result_limit_chars", says="at least 1000"):
        read_settings({"result_limit_chars": 10}, None)
