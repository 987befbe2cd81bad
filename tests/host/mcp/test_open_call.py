"""Calls that outlive their turn: who owns them, and when they end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.host.mcp import open_call
from rasa_react_ext.host.mcp.answer import CALLBACKS
from rasa_react_ext.host.mcp.asking import kept_ids
from rasa_react_ext.host.mcp.form import Speech
from rasa_react_ext.host.mcp.open_call import OpenCall, OpenCalls, lost
from rasa_react_ext.host.mcp.settings import ElicitationWords
from rasa_react_ext.mcp_pool import ElicitationAnswer, ElicitationRequest

pytestmark = pytest.mark.host

BOOK = Tool(name="book", description="", parameters={})
LOOK = Tool(name="look", description="", parameters={}, read_only=True)
CONTEXT = CallContext(call_id="a", timeout_seconds=9)
Making = Callable[[CallContext], Awaitable[ToolResult]]


def opened(make: Making, *, of: str = "anna", tool: Tool = BOOK) -> OpenCall:
    """A call that has been started."""
    speech = Speech(words=ElicitationWords())
    call = OpenCall(tool, {}, conversation=of, speech=speech, wait_seconds=9)
    call.start(make, CONTEXT)
    return call


async def ask(message: str = "Which seat?") -> ElicitationAnswer:
    """Ask as a server does."""
    fields: dict[str, Any] = {"seat": {"type": "string"}}
    schema = {"type": "object", "properties": fields, "required": ["seat"]}
    request = ElicitationRequest(
        server="s", tool=BOOK, context=CONTEXT, message=message, schema=schema
    )
    assert CALLBACKS.elicit is not None
    return await CALLBACKS.elicit(request)


async def books(context: CallContext) -> ToolResult:
    answer = await ask()
    return ToolResult(text=f"{answer.action} {answer.content}")


async def test_d4_1_signs_of_life_and_texts_reach_the_turn_of_the_moment_and_no_other() -> None:
    heard: list[str] = []

    def context(turn: str) -> CallContext:
        async def tell(text: str) -> None:
            heard.append(f"{turn} {text}")

        return CallContext(
            call_id="a", timeout_seconds=9, alive=lambda: heard.append(turn), tell=tell
        )

    async def make(given: CallContext) -> ToolResult:
        for _ in range(2):
            given.alive()
            await given.tell("hello")
            await ask()
        return ToolResult(text="done")

    call = opened(make)
    async with asyncio.timeout(10):
        await call.outcome(context("first"))
        call.hear("12A", call.number)
        await call.outcome(context("second"))
        call.hear("12B", call.number)
        await call.outcome(context("third"))
    assert heard == ["first", "first hello", "second", "second hello"]


async def test_d4_1_between_turns_nobody_hears_a_call() -> None:
    asked = asyncio.Event()

    async def make(given: CallContext) -> ToolResult:
        question = asyncio.create_task(ask())
        await asked.wait()
        given.alive()
        await given.tell("hello")
        await question
        return ToolResult(text="done")

    call = opened(make)
    async with asyncio.timeout(10):
        assert (await call.outcome(CONTEXT)).question == "Which seat?"
        asked.set()
        call.hear("12A", call.number)
        assert (await call.outcome(CONTEXT)).text.endswith("done")


async def test_d4_1_an_answer_to_another_question_is_not_used() -> None:
    call = opened(books)
    async with asyncio.timeout(10):
        await call.outcome(CONTEXT)
        call.hear("12A", call.number + 1)
        assert (await call.outcome(CONTEXT)).question == "Which seat?"
        call.hear("12A", call.number)
        call.hear("12B", call.number)
        result = await call.outcome(CONTEXT)
    assert result.full_text == "accept {'seat': '12A'}"


async def test_d4_1_two_questions_of_one_call_are_put_one_after_the_other() -> None:
    async def make(context: CallContext) -> ToolResult:
        answers = await asyncio.gather(ask("There?"), ask("Back?"))
        return ToolResult(text=" ".join(str(answer.content) for answer in answers))

    call = opened(make)
    async with asyncio.timeout(10):
        for question, seat in (("There?", "1A"), ("Back?", "2B")):
            assert (await call.outcome(CONTEXT)).question == question
            call.hear(seat, call.number)
        result = await call.outcome(CONTEXT)
    assert result.full_text == "{'seat': '1A'} {'seat': '2B'}"


async def test_d4_1_a_source_that_breaks_its_promise_is_heard_of_by_who_waits() -> None:
    async def make(context: CallContext) -> ToolResult:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await opened(make).outcome(CONTEXT)


async def test_d4_1_a_call_that_was_ended_has_an_unknown_outcome() -> None:
    calls = OpenCalls()
    call = opened(books)
    calls.add(call)
    await call.outcome(CONTEXT)
    await calls.aclose()
    assert (await call.outcome(CONTEXT)).outcome_unknown
    assert not lost(LOOK).outcome_unknown


async def test_d4_1_only_calls_that_the_conversation_knows_of_stay_open() -> None:
    calls = OpenCalls(max_calls=3)
    mine, old, other = opened(books), opened(books), opened(books, of="bert")
    for call in (mine, old, other):
        calls.add(call)
    assert calls.full
    calls.keep_only("anna", kept_ids({"open": [{"id": mine.id, "call_id": "a"}, "damaged", {}]}))
    assert calls.calls == (mine, other)
    await calls.aclose()
    await calls.aclose()
    assert len(calls) == 0
    assert all(call.ended_at is not None for call in (mine, old, other))


async def test_d4_1_a_result_that_nobody_comes_for_is_dropped_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def make(context: CallContext) -> ToolResult:
        return ToolResult(text="done")

    calls = OpenCalls()
    done, waiting = opened(make), opened(books)
    for call in (done, waiting):
        calls.add(call)
    await done.outcome(CONTEXT)
    monkeypatch.setattr(open_call, "KEEP_SECONDS", -1.0)
    new = opened(books)
    calls.add(new)
    assert calls.calls == (waiting, new)
    await calls.aclose()


def test_d4_1_a_call_of_another_event_loop_is_lost() -> None:
    calls = OpenCalls()

    async def begin() -> OpenCall:
        call = opened(books)
        calls.add(call)
        await call.outcome(CONTEXT)
        return call

    async def look(call: OpenCall) -> None:
        assert calls.get(call.id) is None
        await calls.aclose()

    asyncio.run(look(asyncio.run(begin())))
    assert len(calls) == 0


async def test_d4_1_a_call_is_ended_in_the_loop_it_lives_in() -> None:
    calls, begun = OpenCalls(), threading.Event()
    found: list[OpenCall] = []

    async def begin() -> None:
        call = opened(books)
        calls.add(call)
        await call.outcome(CONTEXT)
        found.append(call)
        begun.set()
        assert call.task is not None
        await asyncio.wait({call.task}, timeout=10)

    thread = threading.Thread(target=asyncio.run, args=(begin(),))
    thread.start()
    await asyncio.to_thread(begun.wait, 10)
    await calls.aclose()
    await asyncio.to_thread(thread.join, 10)
    assert found[0].ended_at is not None


async def test_d4_1_a_question_outside_of_a_call_is_nobodys() -> None:
    assert (await ask()).action == "cancel"
