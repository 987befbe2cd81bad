"""The rules of a run, one by one (design D3; cases LOOP, ARGS)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import (
    Action,
    Ask,
    CallDone,
    Closing,
    Execute,
    Finish,
    Outcome,
    Review,
    Rules,
    Run,
    Say,
    SlotChanged,
)
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.engine.tool import Tool, ToolResult
from tests.engine.fake import answer, bad, call, ok, tool, usage

OPEN = Rules(completes="task_completed")
NUMBER = Tool(
    name="count",
    description="Counts.",
    parameters={
        "type": "object",
        "properties": {"to": {"type": "integer"}},
        "required": ["to"],
    },
)


def task(*needed: str, **more: Any) -> Rules:
    """Rules of a task agent that is done when these text slots are set."""
    return Rules(
        slots={f"set_slot_{name}": SlotSpec(name=name, type="text") for name in needed},
        condition=lambda slots: all(slots.get(name) is not None for name in needed),
        **more,
    )


@dataclass
class Play:
    """Plays a run: tools answer `ok()` unless told otherwise by name."""

    rules: Rules = OPEN
    results: dict[str, ToolResult] = field(default_factory=dict)
    hooked: dict[str, Any] = field(default_factory=dict)
    slots: dict[str, Any] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run = Run(rules=self.rules, slots=self.slots)
        self.run = rules.offered(self.run, [tool("look"), tool("book"), NUMBER])
        self._take(rules.begin(self.run))

    def say(self, given: ModelAnswer, *, shown: bool = False) -> list[Action]:
        """Let the model answer and everything follow; returns the new actions."""
        before = len(self.actions)
        self._take(rules.answered(self.run, given, shown=shown))
        while isinstance(self.last, Execute | Review):
            if isinstance(self.last, Execute):
                given_results = {
                    c.position: self.results.get(c.name, ok()) for c in self.last.calls
                }
                self._take(rules.ran(self.run, given_results))
            else:
                self._take(rules.reviewed(self.run, self.hooked))
        return self.actions[before:]

    def _take(self, decision: tuple[Run, tuple[Action, ...]]) -> None:
        self.run, actions = decision
        self.actions.extend(actions)

    @property
    def last(self) -> Action:
        return self.actions[-1]

    @property
    def end(self) -> Finish:
        assert isinstance(self.last, Finish), self.last
        return self.last

    def told(self) -> list[str]:
        """Results of the last step, in call order."""
        return [one.result for one in self.run.steps[-1].calls]

    def said(self) -> list[tuple[str, str]]:
        return [(a.kind, a.speech.text) for a in self.actions if isinstance(a, Say)]


def kinds(actions: list[Action]) -> list[str]:
    return [type(action).__name__ for action in actions]


# Budgets


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
    assert play.end == Finish(outcome=Outcome.FAILED, reason="Budget exhausted: steps.")
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
    play.say(answer("", call("book", {"q": "2"}), usage=usage(60)))
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


# The same call again and again (B03)


def test_b03_an_equal_call_with_an_equal_result_ends_the_turn_at_the_third_time() -> None:
    play = Play(results={"look": ok("[]")})
    play.say(answer("", call("look", '{"q":"a","r":1}')))
    assert play.told() == ["[]"]
    play.say(answer("", call("look", '{"r":1, "q":"a"}')))
    assert play.told()[0].startswith("[]\n[This exact call has now given this same result 2 times")
    assert play.last == Ask()
    play.say(answer("", call("look", '{"q":"a","r":1}')))
    assert play.run.limit == "repeats"
    assert play.last == Ask(closing=Closing.LIMIT)


def test_b03_a_poll_whose_result_changes_is_never_cut() -> None:
    play = Play(rules=Rules(max_steps=50, completes="task_completed"))
    for number in range(30):
        play.results["look"] = ok(f"{number} %")
        play.say(answer("", call("look")))
        assert play.last == Ask()
        assert play.told() == [f"{number} %"]


def test_b03_equal_results_count_again_after_another_result() -> None:
    play = Play()
    for text in ("a", "a", "b", "a", "a"):
        play.results["look"] = ok(text)
        play.say(answer("", call("look")))
        assert play.last == Ask()


def test_b03_other_arguments_are_another_call() -> None:
    play = Play(results={"look": ok("[]")})
    for number in range(5):
        play.say(answer("", call("look", {"q": str(number)})))
        assert play.last == Ask()


def test_b03_equal_calls_of_one_answer_count_once() -> None:
    play = Play(results={"look": ok("[]")})
    play.say(answer("", call("look"), call("look"), call("look")))
    assert play.last == Ask()
    assert play.told() == ["[]", "[]", "[]"]


# Refusals (B05, B13, B14, B16)


def test_b05_an_unknown_tool_is_answered_with_the_names_and_its_sibling_runs() -> None:
    play = Play()
    actions = play.say(answer("", call("search_v2"), call("look")))
    execute = next(action for action in actions if isinstance(action, Execute))
    assert [one.name for one in execute.calls] == ["look"]
    unknown, found = play.told()
    assert "There is no tool 'search_v2'" in unknown
    assert "book, count, look, task_completed" in unknown
    assert found == "found"
    assert play.last == Ask()


def test_b05_a_name_that_keeps_being_refused_ends_the_turn() -> None:
    play = Play()
    for _ in range(2):
        play.say(answer("", call("search_v2"), call("search_v2"), call("search_v2")))
        assert play.last == Ask()
    play.say(answer("", call("search_v2")))
    assert play.run.limit == "refusals"


def test_a_success_of_the_same_name_forgives_its_refusals() -> None:
    play = Play()
    for _ in range(4):
        play.say(answer("", call("count", {"to": "many"})))
        play.say(answer("", call("count", {"to": "x"})))
        play.say(answer("", call("count", {"to": len(play.run.steps)})))
        assert play.last == Ask()
        play.run = replace(play.run, model_calls=0)


def test_b14_a_malformed_call_is_not_run_and_its_sibling_is() -> None:
    play = Play()
    actions = play.say(answer("", call("look", '{"q": "unterminated'), call("book")))
    execute = next(action for action in actions if isinstance(action, Execute))
    assert [one.name for one in execute.calls] == ["book"]
    assert "not valid JSON" in play.told()[0]
    assert play.told()[1] == "found"


def test_b16_what_is_stored_of_a_broken_call_is_valid_json() -> None:
    play = Play()
    play.say(answer("", call("look", '{"a": "x'), call("nope", '{"b": 1}'), call("count")))
    stored = [json.loads(one.arguments) for one in play.run.steps[-1].calls]
    assert stored == [{}, {}, {}]


def test_b13_empty_arguments_run_a_tool_that_needs_none() -> None:
    play = Play()
    play.say(answer("", call("look", ""), call("count", " ")))
    assert play.told()[0] == "found"
    assert "'to' is a required property" in play.told()[1]


# Cut-off answers (B17, B18)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS"])
def test_b17_no_call_of_a_cut_off_answer_is_run(reason: str) -> None:
    play = Play(task("a"))
    cut = answer("", call("look"), call("set_slot_a", {"slot_value": "x"}), finish_reason=reason)
    actions = play.say(cut)
    assert Execute(calls=()) in actions
    assert play.told() == [wording.CUT_OFF, wording.CUT_OFF]
    assert play.run.slots_set == {}
    assert play.last == Ask()


def test_b17_cut_off_answers_in_a_row_end_the_turn_and_blame_no_tool() -> None:
    play = Play()
    for _ in range(2):
        play.say(answer("", call("look"), finish_reason="length"))
        assert play.last == Ask()
    assert play.run.refusals == {}
    play.say(answer("", call("look")))
    for _ in range(2):
        play.say(answer("", call("look"), finish_reason="length"))
        assert play.last == Ask()
    play.say(answer("", call("look"), finish_reason="length"))
    assert play.run.limit == "refusals"


def test_b18_arguments_that_end_inside_a_string_are_cut_whatever_the_provider_says() -> None:
    play = Play()
    actions = play.say(answer("", call("look", '{"q": "Dear'), finish_reason="tool_calls"))
    assert Execute(calls=()) in actions
    assert "not valid JSON" in play.told()[0]
    assert play.last == Ask()


# Blank answers (B06)


def test_b06_blank_answers_are_asked_again_twice_and_never_stored_or_said() -> None:
    play = Play()
    for text in ("", " \n"):
        play.say(answer(text))
        assert play.last == Ask()
    play.say(answer("\u200b"))
    assert play.end.outcome is Outcome.FAILED
    assert play.said() == []
    assert play.run.steps == ()


def test_b06_a_good_answer_after_blanks_counts() -> None:
    play = Play()
    play.say(answer(""))
    play.say(answer("", call("look")))
    assert play.run.blanks == 0
    play.say(answer("Here it is."))
    assert play.end == Finish(outcome=Outcome.INPUT_REQUIRED, text="Here it is.")


def test_b06_blank_answers_use_up_steps() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed"))
    play.say(answer(""))
    assert play.last == Ask(closing=Closing.LIMIT)


# Exit conditions and slots (B07, B09, B20, D3.3, D3.5)


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


# Completion (D3.3, D3.5, D3.9)


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


# Fillers (D3.9)


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


# Filters (B34)


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


def test_b34_a_filtered_closing_answer_leaves_the_limit_as_the_reason() -> None:
    play = Play(rules=Rules(max_steps=1, completes="task_completed"))
    play.say(answer("", call("look")))
    play.say(answer("x", finish_reason="content_filter"))
    assert play.end.outcome is Outcome.INPUT_REQUIRED
    assert play.said() == [("input_required", wording.LIMIT_REPLY)]


# A model that fails


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


# Ids (B25)


@pytest.mark.parametrize("ids", [("", ""), ("c1", "c1"), ("", "c1"), ("call_0_1", "")])
def test_b25_missing_and_repeated_ids_are_made_unique_and_every_call_runs(ids: Any) -> None:
    play = Play()
    calls = [replace(call("look", {"q": str(n)}), id=given) for n, given in enumerate(ids)]
    actions = play.say(answer("", *calls))
    execute = next(action for action in actions if isinstance(action, Execute))
    assert len(execute.calls) == 2
    stored = [one.id for one in play.run.steps[-1].calls]
    assert len(set(stored)) == 2
    assert "" not in stored


def test_b25_an_id_of_an_earlier_step_or_turn_is_not_used_again() -> None:
    play = Play()
    play.run = rules.heard_of(play.run, ["old", "call_1_0", "call_1_0_2"])
    play.say(answer("", call("look", id="c1")))
    play.say(answer("", call("look", {"q": "2"}, id="c1"), call("look", {"q": "3"}, id="old")))
    stored = [one.id for step in play.run.steps for one in step.calls]
    assert stored[0] == "c1"
    assert len({*stored, "old", "call_1_0"}) == 5


# Names


@pytest.mark.parametrize("name", ["look", " look\n", "look<|channel|>", "look()"])
def test_debris_behind_an_offered_name_is_cut_off(name: str) -> None:
    play = Play()
    if name == "look<|channel|>":
        play.say(answer("", call(name)))
        assert "There is no tool" in play.told()[0]
        return
    play.say(answer("", call(name)))
    assert play.told() == ["found"]


@pytest.mark.parametrize("name", ["", "über tool/x", "x" * 300, "look look", " nope ", "nope()"])
def test_b05_any_other_name_is_stored_in_a_form_that_providers_accept(name: str) -> None:
    play = Play()
    play.say(answer("", call(name, id="c")))
    stored = play.run.steps[-1].calls[0].name
    assert 0 < len(stored) <= 64
    assert stored.replace("_", "").replace("-", "").isascii()
    assert len(play.told()[0]) < 500


def test_b05_without_any_tool_the_model_is_told_to_use_words() -> None:
    run = Run(rules=task("a"))
    run = replace(run, rules=replace(run.rules, slots={}))
    run, _ = rules.answered(run, answer("", call("look")), shown=False)
    run, _ = rules.ran(run, {})
    assert "no tools are available" in run.steps[-1].calls[0].result


def test_b05_a_long_list_of_names_is_shortened() -> None:
    run = rules.offered(Run(rules=OPEN), [tool(f"t{n}") for n in range(60)])
    run, _ = rules.answered(run, answer("", call("nope")), shown=False)
    run, _ = rules.ran(run, {})
    assert " and others" in run.steps[-1].calls[0].result


# Results


def test_d3_2_results_stand_in_call_order_and_each_call_is_answered_once() -> None:
    play = Play(results={"book": bad("full")})
    play.say(answer("", call("book"), call("nope"), call("look")))
    assert [one.name for one in play.run.steps[-1].calls] == ["book", "nope", "look"]
    assert play.told()[0] == "full"
    assert play.told()[2] == "found"


@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_b29_a_blank_result_is_told_in_words(text: str) -> None:
    play = Play(results={"look": ok(text)})
    actions = play.say(answer("", call("look")))
    assert play.told() == [wording.NO_RESULT]
    done = next(action for action in actions if isinstance(action, CallDone))
    assert done.result.text == wording.NO_RESULT


def test_a_result_that_cannot_be_encoded_is_made_sound() -> None:
    play = Play(results={"look": ok("a\ud800")})
    play.say(answer("", call("look")))
    assert play.told() == ["a\ufffd"]


def test_b33_opaque_fields_of_answer_and_calls_are_kept_in_the_step() -> None:
    play = Play()
    signed = call("look", extra_content={"google": {"thought_signature": "s"}})
    play.say(answer("", signed, extra={"reasoning_details": [1]}))
    message = play.run.steps[-1].messages()[0]
    assert message["reasoning_details"] == [1]
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}


def test_slots_are_the_same_object_as_long_as_none_changes() -> None:
    play = Play(task("a", "b"))
    before = play.run.slots
    play.say(answer("", call("look")))
    assert play.run.slots is before
    play.say(answer("", call("set_slot_a", {"slot_value": "x"})))
    assert play.run.slots == {"a": "x"}


# Cancelled and overdue (B24, D3.10)


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
