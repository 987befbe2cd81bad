"""What users hear of calls that take their time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.host.mcp.answer import CALLBACKS
from rasa_react_ext.host.mcp.progress import Narrated, progress_text
from rasa_react_ext.host.settings import read_settings
from rasa_react_ext.mcp_pool import Progress
from rasa_react_ext.testing import ModelServer
from tests.host.hooks.play import calling, results, said, then
from tests.host.project import Project
from tests.host.refused import refused
from tests.host.turn import agent_at_work, agent_input, take_turn
from tests.mcp_pool.mcp_server import Served, serving
from tests.mcp_pool.steps import until

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
COOK = Tool(name="cook", description="", parameters={})


@pytest.fixture
def kitchen() -> Iterator[Served]:
    """A server whose tool reports progress every tenth of a second."""
    server = FastMCP("kitchen", log_level="CRITICAL")

    @server.tool(annotations=ToolAnnotations(readOnlyHint=True))
    async def cook(context: Context[Any, Any, Any], steps: int) -> str:
        """Cook a meal of so many steps."""
        for step in range(steps):
            await context.report_progress(step, steps, f"step {step}")
            await asyncio.sleep(0.1)
        return "done"

    with serving(server.streamable_http_app) as served:
        yield served


def at_kitchen(project: Project, kitchen: Served, **agent: Any) -> Project:
    return project.having(servers={"store": kitchen.url}).with_agent(**agent)


async def cooked(project: Project, settings: dict[str, Any]) -> Any:
    """The output of a turn on a channel that shows whole texts."""
    from rasa.core.channels import CollectingOutputChannel

    channel = CollectingOutputChannel()
    async with agent_at_work(project, settings=settings) as agent, asyncio.timeout(20):
        output = await take_turn(agent, agent_input("I am hungry"), output_channel=channel)
    seen = [message["text"] for message in channel.messages]
    assert [text for text, _ in said(output)] == seen, "what was seen is on record"
    return output


async def test_b69_by_default_users_hear_nothing_of_progress(
    project: Project, script: Script, kitchen: Served
) -> None:
    script(calling("cook", steps=3), then("Enjoy."))
    output = await cooked(at_kitchen(project, kitchen), {})
    assert said(output) == [("Enjoy.", "input_required")]


async def test_d4_3_users_hear_of_progress_now_and_then_as_fillers(
    project: Project, script: Script, kitchen: Served
) -> None:
    model = script(calling("cook", steps=10), then("Enjoy."))
    wanted = {"progress_message": "{tool}: {message}", "progress_interval_seconds": 0.4}
    output = await cooked(at_kitchen(project, kitchen), wanted)
    *told, last = said(output)
    assert last == ("Enjoy.", "input_required")
    assert 1 <= len(told) <= 3, "ten reports in a second, a text each 0.4 s at most"
    assert {kind for _, kind in told} == {"filler_message"}
    assert all(text.startswith("cook: step ") for text, _ in told)
    assert "cook: step 0" not in dict(told), "the newest report counts"
    assert results(model) == ["done"]


async def test_d4_3_a_quick_call_says_nothing(
    project: Project, script: Script, kitchen: Served
) -> None:
    script(calling("cook", steps=2), then("Enjoy."))
    output = await cooked(at_kitchen(project, kitchen), {"progress_message": "{message}"})
    assert said(output) == [("Enjoy.", "input_required")]


async def test_b69_progress_that_users_hear_of_extends_nothing_beyond_the_total_cap(
    project: Project, script: Script, kitchen: Served
) -> None:
    script(calling("cook", steps=1_000), then("It takes too long."))
    ours = at_kitchen(project, kitchen, tool_timeout=0.8, timeout=3)
    wanted = {"progress_message": "{message}", "progress_interval_seconds": 0.5}
    output = await cooked(ours, wanted)
    (executed,) = [event for event in output.events if event.type_name == "mcp_tool_executed"]
    assert executed.is_error
    assert executed.metadata["duration_ms"] < 3_000
    assert len(said(output)) > 2


class Hanging:
    """A channel that takes the first text and never comes back."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.stopped = False

    async def tell(self, text: str) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped = True


async def test_d4_3_a_channel_that_hangs_costs_the_text_and_not_the_result() -> None:
    channel = Hanging()

    async def call(context: CallContext) -> ToolResult:
        await _report(1)
        await channel.begun.wait()
        return ToolResult(text="done")

    narrated = Narrated(Source(call), "{done}", 0.01)
    context = CallContext(call_id="a", timeout_seconds=9, tell=channel.tell)
    async with asyncio.timeout(10):
        result = await narrated.call(COOK, {}, context)
        assert result.text == "done"
        await until(lambda: channel.stopped)


async def test_d4_3_the_same_text_is_not_said_twice() -> None:
    heard: list[str] = []

    async def tell(text: str) -> None:
        heard.append(text)

    async def call(context: CallContext) -> ToolResult:
        for done in (1, 1, 2):
            await _report(done)
            await until(lambda done=done: f"{done} of 2" in heard)
            await asyncio.sleep(0.03)
        return ToolResult(text="done")

    narrated = Narrated(Source(call), "{done} of {total}", 0.01)
    context = CallContext(call_id="a", timeout_seconds=9, tell=tell)
    async with asyncio.timeout(10):
        await narrated.call(COOK, {}, context)
    assert heard == ["1 of 2", "2 of 2"]


class Source:
    """Tools that do what they are told to."""

    def __init__(self, behaviour: Callable[[CallContext], Awaitable[ToolResult]]) -> None:
        self._behaviour = behaviour

    async def tools(self) -> Sequence[Tool]:
        return (COOK,)

    def missing(self) -> Sequence[str]:
        return ()

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        return await self._behaviour(context)


def report(done: float, total: float | None = 2.0, message: str = "") -> Progress:
    context = CallContext(call_id="a", timeout_seconds=9)
    return Progress(
        server="kitchen", tool=COOK, context=context, done=done, total=total, message=message
    )


async def _report(done: float) -> None:
    assert CALLBACKS.progress is not None
    CALLBACKS.progress(report(done))


@pytest.mark.parametrize(
    ("template", "given", "text"),
    [
        ("{message}", report(1, message=" stirring "), "stirring"),
        ("{message}", report(1), ""),
        ("{percent} %", report(1), "50 %"),
        ("{percent} %", report(1, None), ""),
        ("{done} of {total}", report(1.5, 3), "1.5 of 3"),
        ("{tool} works", report(1, None), "cook works"),
    ],
)
def test_d4_3_a_report_that_lacks_a_part_of_the_text_is_not_told(
    template: str, given: Progress, text: str
) -> None:
    assert progress_text(template, given) == text


def test_d4_3_a_misspelt_part_of_the_text_is_refused() -> None:
    with refused(file="config.yml", key="progress_message", says="{massage} is none of"):
        read_settings({"progress_message": "{massage}"}, None)


async def test_d4_3_reports_outside_of_a_call_are_nobodys() -> None:
    await _report(1)
