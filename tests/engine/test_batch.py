"""Calls of one answer: refused, repeated, cut off, named, answered (cases LOOP, ARGS)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine import wording
from rasa_react_ext.engine.decision import (
    Ask,
    CallDone,
    Closing,
    Execute,
    Rules,
    Run,
)
from tests.engine.fake import answer, bad, call, ok, tool
from tests.engine.play import OPEN, Play, task


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


def test_b05_an_unknown_tool_is_answered_with_the_names_and_its_sibling_runs() -> None:
    play = Play()
    actions = play.say(answer("", call("search_v2"), call("look")))
    execute = next(action for action in actions if isinstance(action, Execute))
    assert [one.name for one in execute.calls] == ["look"]
    unknown, found = play.told()
    assert [one.result.is_error for one in actions if isinstance(one, CallDone)] == [True, False]
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
    play.say(answer("", call("look", '{"a": "x'), call("nope", '{"b": '), call("count")))
    stored = [json.loads(one.arguments) for one in play.run.steps[-1].calls]
    assert stored == [{}, {}, {}]


def test_b05_a_call_of_an_unknown_tool_keeps_its_arguments_for_the_model_to_see() -> None:
    play = Play()
    play.say(answer("", call("search_v2", {"query": "crime"})))
    assert json.loads(play.run.steps[-1].calls[0].arguments) == {"query": "crime"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"a": 3}, "the argument 'slot_value' is missing. There is no argument 'a'."),
        ({}, "the argument 'slot_value' is missing."),
        ({"slot_value": None}, "an empty value cannot be stored"),
    ],
)
def test_a_slot_whose_value_is_not_there_is_refused_by_what_is_wrong(
    given: dict[str, object], told: str
) -> None:
    play = Play(task("a"))
    play.say(answer("", call("set_slot_a", given)))
    assert told in play.told()[0]
    assert play.run.slots_set == {}


def test_b13_empty_arguments_run_a_tool_that_needs_none() -> None:
    play = Play()
    play.say(answer("", call("look", ""), call("count", " ")))
    assert play.told()[0] == "found"
    assert "'to' is a required property" in play.told()[1]


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


@pytest.mark.parametrize("name", ["look", " look\n", "look()", "look<|>"])
def test_debris_behind_an_offered_name_is_cut_off(name: str) -> None:
    play = Play()
    play.say(answer("", call(name)))
    assert play.told() == ["found"]
    assert play.run.steps[-1].calls[0].name == "look"


@pytest.mark.parametrize("name", ["look<|channel|>", "look book", "Look", "look.x"])
def test_b05_a_name_that_only_begins_like_an_offered_one_is_unknown(name: str) -> None:
    play = Play()
    play.say(answer("", call(name)))
    assert "There is no tool" in play.told()[0]


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


def test_d3_2_results_stand_in_call_order_and_each_call_is_answered_once() -> None:
    play = Play(results={"book": bad("full")})
    play.say(answer("", call("book"), call("nope"), call("look")))
    assert [one.name for one in play.run.steps[-1].calls] == ["book", "nope", "look"]
    assert play.told()[0] == "full"
    assert play.run.batch is None
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
    assert play.run.steps[-1].model == "m"
    assert message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}


def test_slots_are_the_same_object_as_long_as_none_changes() -> None:
    play = Play(task("a", "b"))
    before = play.run.slots
    play.say(answer("", call("look")))
    assert play.run.slots is before
    play.say(answer("", call("set_slot_a", {"slot_value": "x"})))
    assert play.run.slots == {"a": "x"}
