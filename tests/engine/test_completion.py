"""When a run completes, and what its texts are (design D3.3, D3.5, D3.9)."""

from __future__ import annotations

import pytest

from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import (
    Ask,
    Closing,
    Finish,
    Outcome,
    Review,
    Rules,
    SlotChanged,
)
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.slot import SlotSpec
from tests.engine.fake import answer, bad, call, usage
from tests.engine.play import Play, kinds, task


def test_d3_3_conditions_that_hold_at_the_start_need_no_model() -> None:
    play = Play(task("a"), slots={"a": "x"})
    assert play.actions == [Finish(outcome=Outcome.COMPLETED)]


@pytest.mark.parametrize("turned", [False, True])
def test_b07_the_whole_batch_runs_before_the_exit_conditions_count(turned: bool) -> None:
    play = Play(task("time"))
    calls = [call("set_slot_time", {"slot_value": "10:00"}), call("look")]
    actions = play.say(answer("", *(calls[::-1] if turned else calls)))
    assert "found" in play.told()
    assert len(play.told()) == 2
    assert [a.value for a in actions if isinstance(a, SlotChanged)] == ["10:00"]
    assert play.end.outcome is Outcome.COMPLETED
    assert play.run.slots_set == {"time": "10:00"}


def test_d3_3_the_users_hook_may_meet_the_conditions() -> None:
    play = Play(task("time"), hooked={"time": "11:00"})
    play.say(answer("", call("look")))
    assert play.end.outcome is Outcome.COMPLETED
    assert play.run.slots_set == {"time": "11:00"}


def test_d3_3_the_hook_sees_successful_tools_only() -> None:
    play = Play(results={"book": bad()})
    actions = play.say(answer("", call("look"), call("book"), call("nope")))
    review = next(action for action in actions if isinstance(action, Review))
    assert [one.planned.name for one in review.calls] == ["look"]
    assert "Review" not in kinds(play.say(answer("", call("book"))))


def test_d3_5_text_alone_never_completes_a_run() -> None:
    play = Play(task("a"))
    play.say(answer("All done!"))
    assert play.end.outcome is Outcome.INPUT_REQUIRED


def test_d3_5_a_task_agent_has_no_completing_tool() -> None:
    play = Play(task("a"))
    play.say(answer("", call("task_completed")))
    assert "There is no tool 'task_completed'" in play.told()[0]


def test_b09_the_last_value_of_a_slot_counts_once() -> None:
    play = Play(task("size"))
    play.say(
        answer(
            "",
            call("set_slot_size", {"slot_value": "M"}, id="1"),
            call("set_slot_size", {"slot_value": "L"}, id="2"),
        )
    )
    assert [a.value for a in play.actions if isinstance(a, SlotChanged)] == ["L"]
    assert play.told() == [wording.SUPERSEDED, "Slot 'size' is now 'L'."]
    assert play.run.refusals == {}


def test_b09_a_refused_value_supersedes_nothing() -> None:
    play = Play(task("size"))
    play.say(
        answer(
            "",
            call("set_slot_size", {"slot_value": "M"}, id="1"),
            call("set_slot_size", {"slot_value": ""}, id="2"),
        )
    )
    assert play.run.slots_set == {"size": "M"}


def test_b09_two_completions_send_one_message() -> None:
    play = Play()
    play.say(
        answer(
            "",
            call("task_completed", {"message": "A"}, id="1"),
            call("task_completed", {"message": "B"}, id="2"),
        )
    )
    assert play.told() == [wording.TASK_ACCEPTED, wording.TASK_ACCEPTED]
    assert play.said() == [("final_response", "A")]
    assert play.end.outcome is Outcome.COMPLETED


def test_b20_a_refused_value_leaves_the_slot_and_says_why() -> None:
    rules_ = Rules(
        slots={"set_slot_ok": SlotSpec(name="ok", type="bool")},
        condition=lambda slots: slots.get("ok") is not None,
    )
    play = Play(rules_, slots={"other": 1})
    play.say(answer("", call("set_slot_ok", {"slot_value": "maybe"})))
    assert play.told() == [
        "Slot 'ok' was not changed and is still None: 'maybe' is neither true nor false."
    ]
    play.say(answer("", call("set_slot_ok", {"slot_value": None})))
    assert "empty value" in play.told()[0]
    assert play.run.slots == {"other": 1}
    play.say(answer("", call("set_slot_ok", {"slot_value": "false"})))
    assert play.run.slots_set == {"ok": False}
    assert play.end.outcome is Outcome.COMPLETED


def test_b45_a_slot_tool_with_a_shortened_name_sets_its_slot() -> None:
    short = f"set_slot_{'x' * 46}_12345678"
    slot = SlotSpec(name="x" * 60, type="text")
    play = Play(Rules(slots={short: slot}, condition=lambda slots: "x" * 60 in slots))
    play.say(answer("", call(short, {"slot_value": "v"})))
    assert play.run.slots_set == {"x" * 60: "v"}
    assert play.run.steps[-1].calls[0].name == short


def test_d3_9_text_beside_the_completing_call_alone_is_the_closing_text() -> None:
    play = Play(Rules(completes="task_completed", fillers=False))
    play.say(answer("Bye!", call("task_completed")))
    assert play.said() == [("final_response", "Bye!")]
    assert play.end == Finish(outcome=Outcome.COMPLETED)


def test_d3_3_completion_is_not_accepted_beside_a_failed_call() -> None:
    play = Play(results={"book": bad()})
    play.say(answer("Booked, bye!", call("book"), call("task_completed")))
    assert play.told()[1].startswith("Not accepted: the answer also called book")
    assert play.said() == []
    assert play.run.steps[-1].text == ""
    assert play.last == Ask()


def test_d3_3_completion_is_not_accepted_beside_a_refused_call() -> None:
    play = Play()
    play.say(answer("", call("task_completed"), call("nope"), call("book", "{")))
    assert "nope" in play.told()[0]
    assert "book" in play.told()[0]
    assert play.last == Ask()


def test_d3_9_text_beside_completion_and_tools_waits_for_their_success() -> None:
    play = Play()
    actions = play.say(answer("Booked, bye!", call("book"), call("task_completed")))
    assert kinds(actions) == ["Execute", "CallDone", "CallDone", "Review", "Say", "Finish"]
    assert play.said() == [("final_response", "Booked, bye!")]


def test_d3_9_streamed_text_beside_completion_is_recorded_before_the_calls() -> None:
    play = Play()
    actions = play.say(answer("Booked, bye!", call("book"), call("task_completed")), shown=True)
    assert kinds(actions) == ["Execute", "Say", "CallDone", "CallDone", "Review", "Finish"]
    assert play.said() == [("final_response", "Booked, bye!")]


def test_d3_9_streamed_text_beside_a_failed_completion_is_a_filler_and_asked_anew() -> None:
    play = Play(results={"book": bad()})
    play.say(answer("Booked, bye!", call("book"), call("task_completed")), shown=True)
    assert play.said() == [("filler", "Booked, bye!")]
    assert play.run.steps[-1].text == "Booked, bye!"
    assert play.last == Ask()


def test_d3_5_without_text_a_closing_line_is_asked_for_once_more() -> None:
    play = Play()
    play.say(answer("", call("task_completed")))
    assert play.last == Ask(closing=Closing.COMPLETION)
    play.say(answer(""))
    assert play.last == Ask(closing=Closing.COMPLETION)
    play.say(answer("Take care!"))
    assert play.said() == [("final_response", "Take care!")]
    assert play.end == Finish(outcome=Outcome.COMPLETED)


def test_d3_5_an_accepted_completion_stands_without_a_closing_line() -> None:
    for give_up in (
        lambda run: rules.model_failed(run, "gone"),
        rules.out_of_time,
        lambda run: rules.answered(run, answer("", finish_reason="content_filter"), shown=False),
        lambda run: rules.overdue(run, {}),
    ):
        play = Play()
        play.say(answer("", call("task_completed")))
        _, actions = give_up(play.run)
        assert actions == (Finish(outcome=Outcome.COMPLETED),)
    play = Play()
    play.say(answer("", call("task_completed")))
    play.say(answer(""))
    play.say(answer("", call("look")))
    assert play.end == Finish(outcome=Outcome.COMPLETED)
    assert len(play.run.steps) == 1


def test_d3_9_text_beside_tools_is_a_filler_said_before_they_run() -> None:
    play = Play()
    actions = play.say(answer(" Let me see. ", call("look")))
    assert kinds(actions)[:2] == ["Say", "Execute"]
    assert play.said() == [("filler", "Let me see.")]
    assert play.run.steps[-1].text == "Let me see."


def test_d3_9_fillers_off_means_not_said_and_not_stored() -> None:
    play = Play(Rules(fillers=False, completes="task_completed"))
    play.say(answer("Let me see.", call("look")))
    assert play.said() == []
    assert play.run.steps[-1].text == ""


def test_d3_9_what_was_seen_is_recorded_also_with_fillers_off() -> None:
    play = Play(Rules(fillers=False, completes="task_completed"))
    play.say(answer("Let me see.", call("look")), shown=True)
    assert play.said() == [("filler", "Let me see.")]


def test_d3_9_text_beside_slots_is_dropped_when_the_run_completes() -> None:
    play = Play(task("a"))
    play.say(answer("Noted!", call("set_slot_a", {"slot_value": "x"})))
    assert play.said() == []
    assert play.run.steps[-1].text == ""
    assert play.end.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("value", ["x", ""])
def test_d3_9_text_beside_slots_is_said_after_them_when_the_run_goes_on(value: str) -> None:
    play = Play(task("a", "b"))
    actions = play.say(answer("Noted!", call("set_slot_a", {"slot_value": value})))
    assert kinds(actions)[-2:] == ["Say", "Ask"]
    assert play.said() == [("filler", "Noted!")]
    assert play.run.steps[-1].text == "Noted!"


def test_d3_9_text_beside_slots_is_not_said_with_fillers_off() -> None:
    play = Play(task("a", "b", fillers=False))
    play.say(answer("Noted!", call("set_slot_a", {"slot_value": "x"})))
    assert play.said() == []
    assert play.run.steps[-1].text == ""


def test_d3_9_streamed_text_beside_slots_is_recorded_at_once() -> None:
    play = Play(task("a"))
    actions = play.say(answer("Noted!", call("set_slot_a", {"slot_value": "x"})), shown=True)
    assert kinds(actions) == ["Say", "Execute", "CallDone", "SlotChanged", "Finish"]


def test_d3_9_text_beside_a_superseded_slot_waits_too() -> None:
    play = Play(task("a"))
    twice = [call("set_slot_a", {"slot_value": v}, id=v) for v in ("x", "y")]
    play.say(answer("Noted!", *twice))
    assert play.said() == []


def test_text_held_for_slots_is_said_before_a_limit_closes() -> None:
    play = Play(task("a", "b", max_tokens=1))
    actions = play.say(answer("Noted!", call("set_slot_a", {"slot_value": "x"}), usage=usage(5)))
    assert kinds(actions)[-2:] == ["Say", "Ask"]
    assert play.last == Ask(closing=Closing.LIMIT)


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize(
    "said",
    [
        answer("Bye!", call("task_completed", "{")),
        answer("Bye!", call("task_completed"), finish_reason="length"),
        answer("Bye!", call("look"), finish_reason="length"),
    ],
)
def test_d3_9_text_beside_calls_that_did_not_arrive_whole_is_not_said(
    said: ModelAnswer, shown: bool
) -> None:
    play = Play()
    play.say(said, shown=shown)
    assert play.last == Ask()
    assert play.said() == ([("filler", "Bye!")] if shown else [])
    assert play.run.steps[-1].text == ("Bye!" if shown else "")


def test_b14_text_beside_a_malformed_slot_call_waits_as_beside_a_good_one() -> None:
    play = Play(task("a"))
    malformed, good = call("set_slot_a", "{"), call("set_slot_a", {"slot_value": "x"})
    play.say(answer("Noted!", malformed, good))
    assert play.said() == []
    assert play.end.outcome is Outcome.COMPLETED
