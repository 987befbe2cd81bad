"""Calls that need the user's word first, and calls that show signs of life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import anyio
import pytest

from rasa_react_ext.engine.decision import Finish, Outcome, Say
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
