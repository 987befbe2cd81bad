"""The rules of a turn: budgets, blank answers, filters, a failing model (design D3.1, D3.6)."""

from __future__ import annotations

from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import (
    Ask,
    Closing,
    Finish,
    Outcome,
    Rules,
)
from tests.engine.fake import answer, call, usage
from tests.engine.play import Play, task


def test_b01_d3_1_after_the_last_step_one_closing_answer_tells_where_things_stand() -> None:
    play = Play(rules=Rules(max_steps=3, completes="task_completed"))
    for number in range(3):
        assert play.last == Ask()
        play.say(answer("", call("look", {"q": str(number)})))
    assert play.last == Ask(closing=Closing.LIMIT)
    assert play.run.limit == "steps"
    play.say(answer("This far I got. Go on?"))
    assert play.end.outcome is Outcome.INPUT_REQUIRED
    assert play.end.text == "This far I got. Go on?"
    assert play.end.reason == "Budget exhausted: steps."
    assert len(play.run.steps) == 3


def test_d3_6_a_limit_is_a_failure_for_the_flow_where_that_is_wanted() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed", on_limit="fail"))
    play.say(answer("", call("look")))
    play.say(answer("I could not finish."))
    reason = "Budget exhausted: steps."
    assert play.end == Finish(outcome=Outcome.FAILED, reason=reason, kind="steps_limit")
    assert play.said() == [("final_response", "I could not finish.")]


def test_d3_6_without_a_closing_text_a_fixed_one_asks_how_to_go_on() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed"))
    play.say(answer("", call("look")))
    play.say(answer(" "))
    assert play.last == Ask(closing=Closing.LIMIT)
    play.say(answer("", call("book")))
    assert play.end.text == wording.LIMIT_REPLY
    assert play.said() == [("input_required", wording.LIMIT_REPLY)]
    assert len(play.run.steps) == 1


def test_d3_6_a_failing_flow_is_not_asked_how_to_go_on() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed", on_limit="fail"))
    play.say(answer("", call("look")))
    play.say(answer(""))
    play.say(answer(""))
    assert play.end.outcome is Outcome.FAILED
    assert play.said() == []


def test_d3_6_tokens_end_a_turn_where_the_provider_counts_them() -> None:
    play = Play(rules=Rules(max_tokens=100, completes="task_completed"))
    play.say(answer("", call("look"), usage=usage(60)))
    assert play.last == Ask()
    play.say(answer("", call("book")))
    assert play.last == Ask()
    play.say(answer("", call("book", {"q": "2"}), usage=usage(40)))
    assert play.run.limit == "tokens"
    assert play.last == Ask(closing=Closing.LIMIT)


def test_d3_6_out_of_time_before_the_first_answer_still_ends_in_a_question() -> None:
    play = Play()
    run, actions = rules.out_of_time(play.run)
    assert actions == (Ask(closing=Closing.LIMIT),)
    run, actions = rules.out_of_time(run)
    assert isinstance(actions[-1], Finish)
    assert actions[-1].outcome is Outcome.INPUT_REQUIRED
    assert actions[-1].reason == "Budget exhausted: time."


def test_b06_blank_answers_are_asked_again_twice_and_never_stored_or_said() -> None:
    play = Play()
    for text in ("", " \n"):
        play.say(answer(text))
        assert play.last == Ask()
    play.say(answer("\u200b"))
    assert play.end.outcome is Outcome.FAILED
    assert play.end.reason == "The model gave only blank answers."
    assert play.said() == []
    assert play.run.steps == ()


def test_b06_a_good_answer_after_blanks_counts() -> None:
    play = Play()
    play.say(answer(""))
    play.say(answer("", call("look")))
    assert play.run.blanks == 0
    play.say(answer("Here it is."))
    assert play.end == Finish(outcome=Outcome.INPUT_REQUIRED, text="Here it is.")
    assert play.said() == [("input_required", "Here it is.")]


def test_b06_blank_answers_use_up_steps() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed"))
    play.say(answer(""))
    assert play.last == Ask(closing=Closing.LIMIT)
    play.say(answer(""))
    assert play.last == Ask(closing=Closing.LIMIT)


def test_b34_a_filtered_answer_is_a_failure_and_neither_said_nor_stored() -> None:
    for filtered in (
        answer("Some of it", finish_reason="content_filter"),
        answer("", call("look"), finish_reason="content_filter"),
        answer("", refusal="I cannot."),
    ):
        play = Play()
        play.say(filtered)
        assert play.end.outcome is Outcome.FAILED
        assert "content filter" in play.end.reason
        assert play.said() == []
        assert play.run.steps == ()


def test_b34_what_was_seen_of_a_filtered_answer_is_recorded() -> None:
    play = Play()
    play.say(answer("Some of it", finish_reason="content_filter"), shown=True)
    assert play.said() == [("filler", "Some of it")]


def test_b34_a_refusal_beside_a_text_is_no_fault() -> None:
    play = Play()
    play.say(answer("I would rather not.", refusal="no"))
    assert play.end.outcome is Outcome.INPUT_REQUIRED


def test_b34_what_was_seen_of_a_filtered_closing_line_is_recorded() -> None:
    play = Play()
    play.say(answer("", call("task_completed")))
    play.say(answer("Good", finish_reason="content_filter"), shown=True)
    assert play.end == Finish(outcome=Outcome.COMPLETED)
    assert play.said() == [("filler", "Good")]


def test_b34_a_filtered_closing_answer_leaves_the_limit_as_the_reason() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed"))
    play.say(answer("", call("look")))
    play.say(answer("x", finish_reason="content_filter"))
    assert play.end.outcome is Outcome.INPUT_REQUIRED
    assert play.said() == [("input_required", wording.LIMIT_REPLY)]


def test_d3_6_an_unreachable_model_is_a_failure_with_everything_so_far() -> None:
    play = Play(task("a", "b"))
    play.say(answer("", call("set_slot_a", {"slot_value": "x"})))
    run, actions = rules.model_failed(play.run, "gone")
    assert actions == (Finish(outcome=Outcome.FAILED, reason="gone"),)
    assert run.slots_set == {"a": "x"}


def test_d3_6_a_model_that_fails_at_the_closing_answer_leaves_a_question() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed"))
    play.say(answer("", call("look")))
    _, actions = rules.model_failed(play.run, "gone")
    assert isinstance(actions[-1], Finish)
    assert actions[-1].outcome is Outcome.INPUT_REQUIRED
    assert actions[-1].text == wording.LIMIT_REPLY
