"""Turns that are cancelled or overdue (design D3.10, case B24)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import (
    CallDone,
    Finish,
    Outcome,
    Rules,
    Run,
    Say,
)
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.tool import ToolResult
from tests.engine.fake import answer, call, ok
from tests.engine.play import OPEN, Play, kinds, task


def started(play: Play, given: ModelAnswer, *, shown: bool = False) -> Run:
    run, _ = rules.answered(play.run, given, shown=shown)
    return run


@pytest.mark.parametrize("end", [rules.cancelled, rules.overdue])
def test_b24_whatever_ends_the_turn_every_call_is_answered_and_slots_are_kept(end: Any) -> None:
    play = Play(task("a", "b"))
    run = started(
        play,
        answer("", call("look"), call("book"), call("set_slot_a", {"slot_value": "x"}), call("no")),
    )
    run, actions = end(run, {0: ok("seen")})
    found, missing, slot, unknown = (one.result for one in run.steps[-1].calls)
    assert found == "seen"
    assert missing == wording.NOT_EXECUTED
    done = [one.result for one in actions if isinstance(one, CallDone)]
    assert [one.is_error for one in done] == [False, True, False, True]
    assert slot == "Slot 'a' is now 'x'."
    assert "no tool 'no'" in unknown
    assert run.slots_set == {"a": "x"}
    assert run.batch is None
    assert run.ended
    assert kinds(list(actions))[:5] == ["CallDone"] * 3 + ["SlotChanged", "CallDone"]


def test_d3_10_a_cancelled_turn_is_a_silent_input_required() -> None:
    play = Play()
    _, actions = rules.cancelled(play.run, {})
    assert actions == (Finish(outcome=Outcome.INPUT_REQUIRED, reason="The turn was cancelled."),)


def test_d3_10_a_cancelled_turn_ends_the_flow_where_that_is_wanted() -> None:
    play = Play(Rules(completes="task_completed", on_cancel="end"))
    _, actions = rules.cancelled(play.run, {})
    assert isinstance(actions[-1], Finish)
    assert actions[-1].outcome is Outcome.CANCELLED


def test_d3_10_a_completion_is_not_accepted_while_the_turn_is_stopped() -> None:
    play = Play()
    run = started(play, answer("Bye!", call("task_completed")), shown=True)
    run, actions = rules.cancelled(run, {})
    assert run.steps[-1].calls[0].result == wording.NOT_EXECUTED
    says = [action for action in actions if isinstance(action, Say)]
    assert [(say.kind, say.speech.text) for say in says] == [("filler", "Bye!")]


def test_d3_10_a_batch_that_is_answered_already_is_not_answered_again() -> None:
    play = Play()
    run = started(play, answer("", call("look")))
    run, _ = rules.ran(run, {0: ok()})
    run, actions = rules.cancelled(run, {})
    assert kinds(list(actions)) == ["Finish"]
    assert len(run.steps) == 1


def test_an_overdue_turn_ends_with_a_fixed_question() -> None:
    play = Play()
    _, actions = rules.overdue(play.run, {})
    assert kinds(list(actions)) == ["Say", "Finish"]
    assert isinstance(actions[-1], Finish)
    assert actions[-1].text == wording.LIMIT_REPLY
    assert actions[-1].reason == "Budget exhausted: time."


def test_an_answer_to_nothing_is_a_fault_of_the_driver() -> None:
    results: Mapping[int, ToolResult] = {}
    with pytest.raises(AssertionError, match="not asked for"):
        rules.ran(Run(rules=OPEN), results)
