"""Calls that need the user's word first, and calls that show signs of life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.decision import Finish, Outcome, Rules, Say
from rasa_react_ext.engine.driver import GRACE_SECONDS
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.occurrence import CallFinished, Spoke
from rasa_react_ext.engine.step import CallRecord, Step
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from tests.engine.fake import Tools, answer, call, ok, tool, turn
from tests.engine.play import Play, kinds, task

ASKED = ToolResult(text="Not run yet.", is_error=True, question="Shall I book?")


def test_d5_a_call_that_needs_consent_ends_the_turn_with_the_question_word_by_word() -> None:
    play = Play(results={"book": ASKED})
    play.say(answer("One moment.", call("book"), call("look")))
    assert play.end == Finish(outcome=Outcome.INPUT_REQUIRED, text="Shall I book?")
    said = [(a.speech.text, a.kind) for a in play.actions if isinstance(a, Say)]
    assert said == [("One moment.", "filler"), ("Shall I book?", "input_required")]
    assert play.told() == ["Not run yet.", "found"], "siblings run all the same"


@pytest.mark.parametrize("ends", ["set_slot_a", "task_completed"])
def test_d5_nothing_completes_a_run_over_the_head_of_an_open_question(ends: str) -> None:
    play = Play(task("a") if ends == "set_slot_a" else Play().rules, results={"book": ASKED})
    play.say(answer("", call("book"), call(ends, {"slot_value": "x"})))
    assert play.end.outcome is Outcome.INPUT_REQUIRED
    assert play.end.text == "Shall I book?"


def test_d5_an_answer_to_a_question_is_heard_before_exit_conditions_count() -> None:
    play = Play(replace(task("a"), owes_answer=True), slots={"a": "x"})
    assert kinds(play.actions) == ["Ask"]
    play.say(answer("", call("book")))
    assert play.told() == ["found"]
    assert play.end.outcome is Outcome.COMPLETED


def test_d5_the_question_reaches_the_user_and_the_record() -> None:
    async def ask(_arguments: Mapping[str, Any]) -> ToolResult:
        return ASKED

    played = turn(answer("", call("book")), tools=Tools([tool("book")], {"book": ask}))
    result = played.play()
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, "Shall I book?")
    assert played.talk.seen == ["Shall I book?"]
    assert [one.kind for one in played.log.of(Spoke)] == ["input_required"]
    assert len(played.model.requests) == 1, "the model is not asked again"


def test_d5_a_remembered_call_can_be_told_what_became_of_it() -> None:
    def step(*ids: str) -> Step:
        calls = (
            CallRecord(id=one, name="book", arguments="{}", result=f"was {one}") for one in ids
        )
        return Step(text="", calls=tuple(calls), model="m")

    memory = Memory().with_turn("hello", (step("a"), step("b", "c")), {}, limit_bytes=10_000)
    told = memory.with_result("b", "now agreed")
    results = [one.result for step in told.turns[0].steps for one in step.calls]
    assert results == ["was a", "now agreed", "was c"]
    assert memory.with_result("z", "nobody") == memory


class Alive(Tools):
    """A tool that works for a while and shows a sign of life each second."""

    seconds = 8

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        self.calls.append((tool.name, arguments, context))
        for _ in range(self.seconds):
            await anyio.sleep(1)
            context.alive()
        return ok("found at last")


def test_b69_signs_of_life_keep_a_call_going_beyond_its_time_limit() -> None:
    played = turn(
        answer("", call("look")),
        answer("Here."),
        tools=Alive([tool("look")]),
        tool_timeout_seconds=3.0,
    )
    assert played.play().text == "Here."
    assert played.log.of(CallFinished)[0].result.text == "found at last"
    (_, _, context) = played.tools.calls[0]
    assert (context.timeout_seconds, context.limit_seconds) == (3.0, 55.0)


def test_b69_signs_of_life_without_end_end_with_the_turn() -> None:
    tools = Alive([tool("look")])
    tools.seconds = 1_000
    played = turn(answer("", call("look")), answer("Later?"), tools=tools, tool_timeout_seconds=3.0)
    assert played.play().text == "Later?"
    finished = played.log.of(CallFinished)[0]
    assert finished.result.outcome_unknown
    assert finished.duration_ms == pytest.approx((55 + GRACE_SECONDS) * 1000)


def step(id: str, *, result: str = "waiting") -> Memory:
    """A memory of one turn in which `book` was called and waits."""
    record = CallRecord(id=id, name="book", arguments='{"q": "x"}', result=result)
    return Memory().with_turn("hello", (Step(calls=(record,), model="m"),), {}, limit_bytes=9_999)


def resumed(id: str) -> Rules:
    """Rules of a run in which that call goes on."""
    going = Planned(position=0, id=id, name="book", tool=tool("book"), arguments={"q": "x"})
    return Rules(completes="task_completed", resumed=(going,))


def test_d4_1_a_call_of_an_earlier_turn_goes_on_before_the_model_is_asked() -> None:
    played = turn(answer("Booked."), rules=resumed("a"), memory=step("a"))
    result = played.play()
    assert result.text == "Booked."
    assert result.run.steps == ()
    assert result.run.settled == {"a": "book: {'q': 'x'}"}
    (request,) = played.model.requests
    told = [m["content"] for m in request.messages if m["role"] == "tool"]
    assert told == ["book: {'q': 'x'}"], "it is told where the call was made"
    assert [c.call.id for c in played.log.of(CallFinished)] == ["a"]
    assert played.talk.reviewed == [["book"]], "the user's hook sees the result"


def test_d4_1_a_call_that_goes_on_may_ask_again() -> None:
    async def ask(_arguments: Mapping[str, Any]) -> ToolResult:
        return ASKED

    tools = Tools([tool("book")], {"book": ask})
    played = turn(answer("never"), tools=tools, rules=resumed("a"), memory=step("a"))
    result = played.play()
    assert (result.outcome, result.text) == (Outcome.INPUT_REQUIRED, "Shall I book?")
    assert played.model.requests == []


def test_d4_1_new_results_stay_when_the_model_goes_on_working() -> None:
    played = turn(
        answer("", call("look", id="b")),
        answer("Here."),
        rules=resumed("a"),
        memory=step("a"),
    )
    played.play()
    told = [m["content"] for m in played.model.requests[-1].messages if m["role"] == "tool"]
    assert told == ["book: {'q': 'x'}", "look: {}"]


def test_d4_1_a_remembered_call_is_found_by_its_id() -> None:
    memory = step("a", result="was a")
    record = memory.call("a")
    assert record is not None
    assert (record.name, record.result) == ("book", "was a")
    assert memory.call("b") is None
    assert memory.with_results({"a": "now"}).call("a") != record


class Telling(Tools):
    """A tool that says something to the user while it works."""

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        await context.tell(f"{tool.name}: half of it")
        await context.tell("   ")
        return ok("all of it")


def test_b69_a_running_tool_can_tell_the_user_something() -> None:
    both = [tool("look"), tool("book")]
    played = turn(answer("", call("look"), call("book")), answer("Here."), tools=Telling(both))
    played.play()
    assert played.talk.seen == ["look: half of it", "book: half of it", "Here."]
    kinds = [(one.text, one.kind) for one in played.log.of(Spoke)]
    assert kinds[0] == ("look: half of it", "filler")


async def test_b69_by_default_nobody_hears_what_a_tool_says_meanwhile() -> None:
    await CallContext(call_id="a", timeout_seconds=1).tell("half of it")
