"""What a server sends and asks of its own: questions, progress, logs, pings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from mcp import types
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import (
    Callbacks,
    ElicitationAnswer,
    ElicitationRequest,
    Pool,
    PooledTools,
    PoolEvent,
    Progress,
    SamplingAnswer,
    SamplingRequest,
    ServerSpec,
)
from tests.mcp_pool.mcp_server import Served, serving
from tests.mcp_pool.steps import named, until

Ctx = Context[Any, Any, Any]
speaker: ContextVar[str] = ContextVar("speaker")


class Seat(BaseModel):
    seat: str


def asking() -> FastMCP:
    server = FastMCP("asking", log_level="CRITICAL")

    @server.tool()
    async def book(context: Ctx, who: str = "") -> str:
        """Ask for a seat."""
        answer = await context.elicit(f"Which seat{who}?", Seat)
        return f"{answer.action} {answer.data.seat if answer.action == 'accept' else ''}"

    @server.tool()
    async def summarise(context: Ctx) -> str:
        """Ask for a model's answer."""
        message = types.SamplingMessage(
            role="user", content=types.TextContent(type="text", text="Sum up.")
        )
        answer = await context.session.create_message(
            [message],
            max_tokens=9,
            system_prompt="Be brief.",
            related_request_id=context.request_id,
        )
        assert isinstance(answer.content, types.TextContent)
        return f"{answer.model}: {answer.content.text}"

    @server.tool()
    async def steps(context: Ctx, count: int, pause: float) -> str:
        """Report progress."""
        for number in range(count):
            await context.report_progress(number, count, f"step {number}")
            await asyncio.sleep(pause)
        return "finished"

    @server.tool()
    async def log(context: Ctx) -> str:
        """Log something."""
        await context.warning("low on paper")
        return "logged"

    @server.tool()
    async def probe(context: Ctx) -> str:
        """Ask for roots and send a ping."""
        await context.session.send_ping()
        return str(len((await context.session.list_roots()).roots))

    return server


@pytest.fixture
def server() -> Iterator[Served]:
    with serving(lambda: asking().streamable_http_app()) as served:
        yield served


@pytest.fixture
def callbacks() -> Callbacks:
    return Callbacks()


@pytest.fixture
async def pool(reported: list[PoolEvent], callbacks: Callbacks) -> AsyncIterator[Pool]:
    async with Pool(reported.append, callbacks) as pool:
        yield pool


async def call(tools: PooledTools, name: str, /, **arguments: Any) -> str:
    context = CallContext(call_id=f"call {name}", timeout_seconds=10)
    return (await tools.call(await named(tools, name), arguments, context)).text


async def test_questions_are_declined_with_a_clear_text_by_default(
    tools: PooledTools, reported: list[PoolEvent]
) -> None:
    assert "Declined by the client: nobody can be asked." in await call(tools, "book")
    assert "no model is offered to servers" in await call(tools, "summarise")
    assert [event.kind for event in reported].count("declined") == 2


async def test_pings_are_answered_and_there_are_no_roots(tools: PooledTools) -> None:
    assert await call(tools, "probe") == "0"


async def test_a_question_that_belongs_to_no_single_call_is_declined(
    reported: list[PoolEvent],
) -> None:
    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        return ElicitationAnswer(action="accept", content={"seat": "1"})

    def build() -> FastMCP:
        server = asking()

        @server.tool()
        async def wait() -> str:
            """Be in flight."""
            await asyncio.sleep(2)
            return ""

        return server

    with serving(lambda: build().sse_app(), "/sse") as served:
        async with Pool(reported.append, Callbacks(elicit=elicit)) as pool:
            spec = ServerSpec(name="s", transport="sse", url=served.url)
            tools = PooledTools(pool, spec)
            assert await call(tools, "book") == "accept 1"
            waiting = asyncio.create_task(call(tools, "wait"))
            await until(lambda: served.seen["tools/call"] == 2)
            assert "not clear which call" in await call(tools, "book")
            waiting.cancel()
            await asyncio.wait({waiting})


async def test_log_messages_are_reported(tools: PooledTools, reported: list[PoolEvent]) -> None:
    await call(tools, "log")
    (event,) = [event for event in reported if event.kind == "server_log"]
    assert (event.server, event.text) == ("shop", "low on paper")
    assert event.data["server_level"] == "warning"


class TestAnswered:
    """With callbacks for everything."""

    asked: list[ElicitationRequest | SamplingRequest | Progress]

    @pytest.fixture
    def callbacks(self) -> Callbacks:
        self.asked = []
        self.release = asyncio.Event()

        async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
            self.asked.append(request)
            if "slowly" in request.message:
                await self.release.wait()
            return ElicitationAnswer(action="accept", content={"seat": f"for {speaker.get()}"})

        async def sample(request: SamplingRequest) -> SamplingAnswer:
            self.asked.append(request)
            return SamplingAnswer(text="short", model="m1")

        def progress(report: Progress) -> None:
            self.asked.append(report)
            if report.done == 1:
                raise RuntimeError("a broken listener")

        return Callbacks(elicit=elicit, sample=sample, progress=progress)

    async def test_the_user_is_asked_in_the_context_of_the_call(self, tools: PooledTools) -> None:
        async def talk(name: str) -> str:
            speaker.set(name)
            return await call(tools, "book")

        assert await asyncio.gather(talk("ann"), talk("bob")) == [
            "accept for ann",
            "accept for bob",
        ]
        question = self.asked[0]
        assert isinstance(question, ElicitationRequest)
        assert (question.server, question.tool.name) == ("shop", "book")
        assert question.context.call_id == "call book"
        assert question.message == "Which seat?"
        assert "seat" in question.schema["properties"]

    async def test_an_open_question_holds_up_nobody_and_stops_the_clock_of_its_call(
        self, tools: PooledTools
    ) -> None:
        speaker.set("ann")
        book = await named(tools, "book")
        context = CallContext(call_id="c", timeout_seconds=0.5)
        pending = asyncio.create_task(tools.call(book, {"who": " slowly"}, context))
        await until(lambda: self.asked)
        await asyncio.sleep(0.6)
        assert await call(tools, "log") == "logged"
        self.release.set()
        assert (await pending).text == "accept for ann"

    async def test_an_abandoned_call_drops_its_question(
        self, tools: PooledTools, server: Served
    ) -> None:
        speaker.set("ann")
        book = await named(tools, "book")
        context = CallContext(call_id="c", timeout_seconds=10)
        pending = asyncio.create_task(tools.call(book, {"who": " slowly"}, context))
        await until(lambda: self.asked)
        pending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await pending
        await until(lambda: [n for n in server.notices if n["method"].endswith("cancelled")])

    async def test_a_model_is_asked(self, tools: PooledTools) -> None:
        assert await call(tools, "summarise") == "m1: short"
        (question,) = self.asked
        assert isinstance(question, SamplingRequest)
        assert question.messages == (("user", "Sum up."),)
        assert (question.system_prompt, question.max_tokens) == ("Be brief.", 9)

    async def test_b69_progress_is_passed_on_and_a_broken_listener_does_no_harm(
        self, tools: PooledTools
    ) -> None:
        assert await call(tools, "steps", count=3, pause=0) == "finished"
        heard = [report for report in self.asked if isinstance(report, Progress)]
        assert [(report.done, report.total, report.message) for report in heard] == [
            (0, 3, "step 0"),
            (1, 3, "step 1"),
            (2, 3, "step 2"),
        ]


async def test_b69_progress_keeps_a_call_alive_but_never_beyond_the_total_limit(
    tools: PooledTools,
) -> None:
    steps = await named(tools, "steps")
    kept = CallContext(call_id="c", timeout_seconds=0.5, limit_seconds=10)
    result = await tools.call(steps, {"count": 10, "pause": 0.1}, kept)
    assert result.text == "finished"
    endless = CallContext(call_id="c", timeout_seconds=0.5, limit_seconds=1)
    async with asyncio.timeout(3):
        result = await tools.call(steps, {"count": 1_000, "pause": 0.1}, endless)
    assert result.is_error
    plain = CallContext(call_id="c", timeout_seconds=0.5)
    result = await tools.call(steps, {"count": 10, "pause": 0.1}, plain)
    assert result.is_error, "without a total limit progress extends nothing"


async def test_a_callback_that_fails_is_a_declined_question(
    server: Served, reported: list[PoolEvent]
) -> None:
    async def elicit(request: ElicitationRequest) -> ElicitationAnswer:
        raise LookupError("secret detail")

    async with Pool(reported.append, Callbacks(elicit=elicit)) as pool:
        tools = PooledTools(pool, ServerSpec(name="shop", url=server.url))
        text = await call(tools, "book")
    assert "answering failed (LookupError)" in text
    assert "secret detail" not in text
