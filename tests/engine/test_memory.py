"""What a run remembers between turns (design D3.7)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rasa_react_ext.engine.memory import SHORTENED, Memory, TurnMemory
from rasa_react_ext.engine.step import CallRecord, Step

TEXT = st.text(max_size=20)
EXTRA = st.dictionaries(TEXT, st.integers() | TEXT, max_size=2)
CALLS = st.builds(CallRecord, id=TEXT, name=TEXT, arguments=TEXT, result=TEXT, extra=EXTRA)
STEPS = st.builds(
    Step,
    text=TEXT,
    calls=st.lists(CALLS, min_size=1, max_size=3).map(tuple),
    extra=EXTRA,
    model=TEXT,
)
TURNS = st.builds(TurnMemory, user=TEXT, steps=st.lists(STEPS, min_size=1, max_size=3).map(tuple))
MEMORIES = st.builds(
    Memory,
    flow=TEXT,
    step=TEXT,
    turns=st.lists(TURNS, max_size=4).map(tuple),
    slots=st.dictionaries(TEXT, st.none() | st.booleans() | TEXT | st.lists(TEXT), max_size=3),
)


def step(name: str = "c", result: str = "found", arguments: str = "{}", calls: int = 1) -> Step:
    records = [
        CallRecord(id=f"{name}{n}", name="look", arguments=arguments, result=result)
        for n in range(calls)
    ]
    return Step(calls=tuple(records), model="m", extra={"thinking": "t"})


def size(memory: Memory) -> int:
    return len(json.dumps(memory.to_json()["turns"], ensure_ascii=False).encode())


@given(MEMORIES)
def test_d3_7_a_memory_comes_back_from_json_as_it_was(memory: Memory) -> None:
    stored = json.loads(json.dumps(memory.to_json()))
    assert Memory.from_json(stored, flow=memory.flow, step=memory.step) == memory


@given(MEMORIES, st.integers(min_value=0, max_value=2000))
def test_d3_7_a_memory_never_exceeds_its_limit(memory: Memory, limit: int) -> None:
    grown = memory.with_turn("more", (step(),), {"a": 1}, limit_bytes=limit)
    assert size(grown) <= max(limit, len("[]"))
    assert grown.slots == {**memory.slots, "a": 1}
    assert all(turn.steps for turn in grown.turns)


def test_d3_7_every_field_comes_back_and_empty_ones_take_no_room() -> None:
    call = CallRecord(id="c", name="look", arguments="{}", result="r", extra={"e": 1})
    full = Step(text="Hm.", calls=(call,), extra={"x": [2]}, model="m")
    bare = Step(calls=(replace(call, extra={}),))
    memory = Memory(turns=(TurnMemory(user="u", steps=(full, bare)),), slots={"a": None})
    stored = json.loads(json.dumps(memory.to_json()))
    assert Memory.from_json(stored, flow="", step="") == memory
    assert stored["turns"][0]["steps"][1] == {
        "text": "",
        "model": "",
        "calls": [{"id": "c", "name": "look", "arguments": "{}", "result": "r"}],
    }


def test_d3_7_the_limit_is_met_to_the_byte() -> None:
    steps = (step("a", "ü" * 500), step("b", "r" * 500))
    fits = size(Memory().with_turn("u", steps, {}, limit_bytes=99_999)) + 2
    assert Memory().with_turn("u", steps, {}, limit_bytes=fits).turns[0].steps == steps
    tight = Memory().with_turn("u", steps, {}, limit_bytes=fits - 1).turns[0].steps
    assert [SHORTENED in one.calls[0].result for one in tight] == [True, False]


def test_d3_7_the_words_of_a_forgotten_turn_make_room_too() -> None:
    memory = Memory().with_turn("w" * 900, (step("a"), step("b")), {}, limit_bytes=9999)
    memory = memory.with_turn("x" * 900, (step("c"),), {}, limit_bytes=9999)
    last = size(replace(memory, turns=memory.turns[1:]))
    kept = memory.with_turn("", (), {}, limit_bytes=last + 2)
    assert [turn.user[0] for turn in kept.turns] == ["x"]
    assert len(kept.turns[0].steps) == 1


def test_d3_7_what_is_short_is_left_as_it_is() -> None:
    edge = 120 + len(SHORTENED)
    for length, arguments in ((edge, "1" * 120), (edge + 1, "1" * 121)):
        steps = (step("x" * 900), step(result="r" * length, arguments=arguments))
        memory = Memory().with_turn("u", steps, {}, limit_bytes=1000)
        (call,) = memory.turns[0].steps[0].calls
        assert (call.result == "r" * length) is (length == edge)
        assert (call.arguments == arguments) is (length == edge)


def test_d3_7_turns_are_only_added_while_there_is_room() -> None:
    memory = Memory(flow="f", step="s")
    before: list[Any] = []
    for number in range(20):
        memory = memory.with_turn(f"u{number}", (step(f"c{number}_"),), {}, limit_bytes=32_768)
        turns = memory.to_json()["turns"]
        assert turns[:-1] == before
        before = turns


def test_d3_7_a_turn_without_calls_adds_its_slots_only() -> None:
    memory = Memory().with_turn("hi", (), {"a": 1}, limit_bytes=1000)
    assert memory == Memory(slots={"a": 1})


def test_d3_7_the_oldest_results_are_shortened_first() -> None:
    memory = Memory()
    for number in range(4):
        steps = (step(f"c{number}_", result=f"{number}" * 1000),)
        memory = memory.with_turn(f"u{number}", steps, {}, limit_bytes=3300)
    lengths = [len(turn.steps[0].calls[0].result) for turn in memory.turns]
    assert lengths == [120 + len(SHORTENED)] * 2 + [1000] * 2
    assert memory.turns[0].steps[0].calls[0].result == "0" * 120 + SHORTENED
    assert memory.turns[0].steps[0].extra == {}


def test_d3_7_then_long_arguments_are_shortened_and_stay_valid_json() -> None:
    arguments = json.dumps({"text": "x" * 2000})
    memory = Memory().with_turn("u", (step(arguments=arguments),), {}, limit_bytes=600)
    (call,) = memory.turns[0].steps[0].calls
    assert json.loads(call.arguments) == {"shortened": arguments[:120]}
    memory = Memory().with_turn("u", (step(result="r" * 2000),), {}, limit_bytes=400)
    assert memory.turns[0].steps[0].calls[0].arguments == "{}"


def test_d3_7_at_last_the_oldest_steps_are_forgotten_and_the_newest_kept() -> None:
    old = (step("old"),)
    many = tuple(step(f"s{number}_", calls=3) for number in range(40))
    memory = Memory().with_turn("old", old, {}, limit_bytes=4000)
    memory = memory.with_turn("u", many, {}, limit_bytes=4000)
    (turn,) = memory.turns
    assert turn.user == "u"
    assert 5 < len(turn.steps) < 40
    assert turn.steps[-1].calls[0].id == "s39_0"


def test_the_users_words_are_kept_as_far_as_they_are_needed_to_find_them() -> None:
    memory = Memory().with_turn("w" * 50_000, (step(),), {}, limit_bytes=2000)
    assert len(memory.turns[0].user) == 1000
    assert len(memory.turns[0].steps) == 1


def test_d3_7_shortening_twice_changes_nothing() -> None:
    memory = Memory().with_turn("u", (step(result="r" * 2000),), {}, limit_bytes=500)
    again = memory.with_turn(
        "v", (step("d", result="r" * 2000),), {}, limit_bytes=400 + size(memory)
    )
    assert again.turns[0] == memory.turns[0]


def test_the_model_that_answered_last_is_remembered() -> None:
    assert Memory().model == ""
    assert Memory().with_turn("u", (step(),), {}, limit_bytes=1000).model == "m"


GOOD = Memory(flow="f", step="s").with_turn("u", (step(),), {}, limit_bytes=1000).to_json()


@pytest.mark.parametrize(
    "stored",
    [
        None,
        "text",
        {**GOOD, "v": 99},
        {**GOOD, "flow": "g"},
        {**GOOD, "step": "t"},
        {**GOOD, "turns": 5},
        {**GOOD, "turns": ["x"]},
        {**GOOD, "turns": [{"user": "u", "steps": []}]},
        {**GOOD, "turns": [{"user": "u", "steps": [{"text": "", "calls": []}]}]},
        {**GOOD, "turns": [{"user": "u", "steps": [{"text": "", "calls": [{}]}]}]},
        {**GOOD, "turns": [{"user": "u", "steps": [{"text": "", "calls": None}]}]},
        {**GOOD, "slots": 5},
        {"v": 1, "flow": "f", "step": "s"},
    ],
)
def test_d3_7_foreign_or_damaged_memory_is_none(stored: Any) -> None:
    assert Memory.from_json(stored, flow="f", step="s") == Memory(flow="f", step="s")


def test_a_call_that_lost_its_arguments_is_damage() -> None:
    turns = [{"user": "u", "steps": [{"text": "", "calls": [["id"]]}]}]
    assert Memory.from_json({**GOOD, "turns": turns}, flow="f", step="s").turns == ()


def test_another_models_fields_and_ids_mean_nothing() -> None:
    own = replace(step("a:"), extra={"x": 1})
    assert own.seen_by("m") is own
    foreign = own.seen_by("other")
    assert foreign.extra == {}
    assert foreign.calls[0].id == "a_0"
