"""Message lists that every provider accepts (design D3.8, cases HIST)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.history import (
    call_ids,
    conversation,
    with_instruction,
    without_tools,
)
from rasa_react_ext.engine.memory import Memory, TurnMemory
from rasa_react_ext.engine.message import Message
from rasa_react_ext.engine.step import CallRecord, Step
from tests.engine.shape import refusals

SYSTEM: Message = {"role": "system", "content": "Be kind."}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def bot(text: Any, *ids: Any) -> Message:
    calls = [
        {"id": id_, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        for id_ in ids
    ]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if ids else {})}


def result(id_: str, text: Any = "found") -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def step(*ids: str, text: str = "", model: str = "m", **extra: Any) -> Step:
    calls = tuple(CallRecord(id=i, name="look", arguments="{}", result=f"r{i}") for i in ids)
    return Step(text=text, calls=calls, model=model, extra=extra)


def memory(*turns: tuple[str, Step]) -> Memory:
    return Memory(turns=tuple(TurnMemory(user=words, steps=(one,)) for words, one in turns))


def built(*messages: Message, memory: Memory | None = None, model: str = "m") -> list[Message]:
    made = conversation(messages, memory or Memory(), model)
    assert refusals(made) == {}
    assert conversation(made, Memory(), model) == made
    return made


def roles(messages: list[Message]) -> list[str]:
    return [message["role"] for message in messages]


def test_b27_instructions_anywhere_become_one_system_message_in_front() -> None:
    made = built(
        user("hi"),
        {"role": "system", "content": "A"},
        {"role": "developer", "content": [{"type": "text", "text": "B"}]},
        {"role": "system", "content": " "},
    )
    assert made == [{"role": "system", "content": "A\n\nB"}, user("hi")]


def test_b27_a_later_instruction_is_merged_into_the_system_message() -> None:
    messages = [SYSTEM, user("hi")]
    made = with_instruction(messages, "Stop.")
    assert made == [{"role": "system", "content": "Be kind.\n\nStop."}, user("hi")]
    assert with_instruction([user("hi")], "Stop.")[0] == {"role": "system", "content": "Stop."}
    assert messages[0] is SYSTEM


def test_b29_blank_text_is_left_out_and_null_beside_calls() -> None:
    for blank in ("", None, "  \n", [], [{"type": "text", "text": " "}], 5):
        made = built(SYSTEM, user("hi"), bot(blank, "c1"), result("c1"), bot(blank), user(blank))
        assert made[2]["content"] is None
        assert roles(made) == ["system", "user", "assistant", "tool"]


def test_b29_a_blank_result_is_told_in_words() -> None:
    for blank in ("", None, " \n", []):
        made = built(user("hi"), bot(None, "c1"), result("c1", blank))
        assert made[-1]["content"] == wording.NO_RESULT


def test_b30_a_request_never_ends_with_the_assistant() -> None:
    made = built(SYSTEM, user("hi"), bot("Hello!"))
    assert made[-1] == user(wording.CONTINUE)


def test_d3_8_a_request_starts_with_a_user_turn() -> None:
    assert built(SYSTEM) == [SYSTEM, user(wording.OPENING)]
    assert built() == [user(wording.OPENING)]
    assert built(bot("Hello!"), user("hi"))[0] == user(wording.OPENING)


def test_d3_8_neighbours_of_one_role_are_merged() -> None:
    made = built(user("a"), user("b"), bot("c"), bot("d"), bot("e", "c1"), result("c1"), user("f"))
    assert made == [
        user("a\nb"),
        bot("c\nd\ne", "c1"),
        result("c1"),
        bot(wording.STOPPED),
        user("f"),
    ]


def test_images_of_the_user_are_kept_also_when_merged() -> None:
    image = [{"type": "text", "text": "see"}, IMAGE, {"type": "text", "text": " "}]
    assert built(user(image)) == [user([{"type": "text", "text": "see"}, IMAGE])]
    assert built(user([IMAGE])) == [user([IMAGE])]
    merged = built(user("a"), user(image), user("b"))
    assert merged[0]["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "see"},
        IMAGE,
        {"type": "text", "text": "b"},
    ]


def test_text_in_parts_becomes_plain_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"text": "b"}, "junk", {"type": "text", "text": 5}]
    assert built(user(parts), bot(parts), user("c"))[:2] == [user("a\nb"), bot("a\nb")]


def test_messages_of_unknown_roles_are_taken_as_the_users() -> None:
    assert built({"role": "function", "content": "x"}, {"content": "y"}) == [user("x\ny")]


def test_text_that_cannot_be_encoded_is_made_sound() -> None:
    assert built(user("a\ud800")) == [user("a\ufffd")]


def test_b24_a_call_without_result_gets_a_stand_in_directly_behind_it() -> None:
    made = built(user("hi"), bot(None, "c1", "c2", "c3"), result("c2"), user("and?"))
    assert [message.get("content") for message in made[2:5]] == [
        wording.NOT_EXECUTED,
        "found",
        wording.NOT_EXECUTED,
    ]
    assert made[5] == bot(wording.STOPPED)


def test_b24_late_results_move_to_their_call_and_stray_ones_go() -> None:
    made = built(result("c0"), user("hi"), bot(None, "c1"), user("and?"), result("c1"), result("x"))
    assert made == [
        user("hi"),
        bot(None, "c1"),
        result("c1"),
        bot(wording.STOPPED),
        user("and?"),
    ]


def test_b25_missing_and_repeated_ids_are_made_unique_with_their_results() -> None:
    made = built(
        user("hi"),
        bot(None, "c1", "c1", ""),
        result("c1", "first"),
        result("c1", "second"),
        result("", "third"),
        bot("then", "c1", None),
        result("c1", "fourth"),
    )
    ids = list(call_ids(made))
    assert ids[0] == "c1"
    assert len(set(ids)) == 5
    assert [(m["tool_call_id"], m["content"]) for m in made if m["role"] == "tool"] == [
        *zip(ids, ["first", "second", "third", "fourth", wording.NOT_EXECUTED], strict=True)
    ]


@pytest.mark.parametrize("arguments", ['{"a": "x', "[1]", None, "", 5])
def test_b16_arguments_that_are_no_object_are_stored_as_an_empty_one(arguments: Any) -> None:
    call = {"id": "c1", "function": {"name": "über/x", "arguments": arguments}}
    made = built(user("hi"), {"role": "assistant", "content": None, "tool_calls": [call]})
    assert made[1]["tool_calls"][0]["function"] == {"name": "_ber_x", "arguments": "{}"}


def test_odd_calls_of_a_hook_are_repaired() -> None:
    calls = [{"id": "c1", "function": {"name": "", "arguments": {"a": 1}}}, "junk", {"id": "c2"}]
    made = built(user("hi"), {"role": "assistant", "tool_calls": calls})
    functions = [call["function"] for call in made[1]["tool_calls"]]
    assert functions == [
        {"name": "unnamed", "arguments": '{"a": 1}'},
        {"name": "unnamed", "arguments": "{}"},
    ]
    assert built(user("hi"), {"role": "assistant", "content": "x", "tool_calls": []})[1] == bot("x")
    junk = {"role": "assistant", "content": "x", "tool_calls": ["junk"]}
    assert built(user("hi"), junk)[1] == bot("x")


def test_b33_opaque_fields_go_back_to_the_same_model_only() -> None:
    signed = step("c:1", signature="s")
    spoken = [user("old"), bot("ok"), user("new")]
    same = conversation(spoken, memory(("old", signed)), "m")
    assert same[1]["signature"] == "s"
    assert same[1]["tool_calls"][0]["id"] == "c:1"
    other = built(*spoken, memory=memory(("old", signed)), model="other")
    assert "signature" not in other[1]
    assert other[1]["tool_calls"][0]["id"] == "c_1" == other[2]["tool_call_id"]


def test_b11_what_was_done_stands_behind_the_words_that_started_it() -> None:
    made = built(
        SYSTEM,
        user("book"),
        bot("Let me see."),
        bot("Which day?"),
        user("Monday"),
        memory=memory(("book", step("c1", text="Let me see."))),
    )
    assert made == [
        SYSTEM,
        user("book"),
        bot("Let me see.", "c1"),
        result("c1", "rc1"),
        bot("Which day?"),
        user("Monday"),
    ]


def test_words_said_twice_belong_to_the_turn_that_is_over() -> None:
    made = built(user("next"), bot("Page 2"), user("next"), memory=memory(("next", step("c1"))))
    assert roles(made) == ["user", "assistant", "tool", "assistant", "user"]
    made = built(
        user("yes"),
        bot("a"),
        user("yes"),
        bot("b"),
        user("ok"),
        memory=memory(("yes", step("c1")), ("yes", step("c2"))),
    )
    assert [list(call_ids([m])) for m in made if m["role"] == "assistant"] == [
        ["c1"],
        [],
        ["c2"],
        [],
    ]


def test_the_present_message_never_owns_what_was_done_before() -> None:
    made = built(user("next"), memory=memory(("next", step("c1"))))
    assert made == [
        user("next"),
        bot(None, "c1"),
        result("c1", "rc1"),
        bot(wording.STOPPED),
        user("next"),
    ]


def test_a_turn_that_left_the_window_comes_first_with_its_words() -> None:
    made = built(
        SYSTEM,
        bot("Looking."),
        bot("Which day?"),
        user("Monday"),
        memory=memory(("book", step("c1", text="Looking."))),
    )
    assert made[1:] == [
        user("book"),
        bot("Looking.", "c1"),
        result("c1", "rc1"),
        bot("Which day?"),
        user("Monday"),
    ]


def test_a_turn_without_visible_words_stands_between_its_neighbours() -> None:
    resumed = "The user comes back to you."
    made = built(
        user("book"),
        bot("When?"),
        user("now"),
        bot("Good."),
        user("bye"),
        memory=memory(
            ("book", step("c1")),
            (resumed, step("c2")),
            (resumed, step("c2b")),
            ("now", step("c3")),
            ("more", step("c4")),
        ),
    )
    order = [c for m in made for c in call_ids([m])]
    assert order == ["c1", "c2", "c2b", "c3", "c4"]
    assert made.index(user("now")) > made.index(bot(None, "c2b"))
    assert made[-1] == user("bye")


def test_memory_alone_makes_a_conversation() -> None:
    made = built(memory=memory(("book", step("c1"))))
    assert roles(made) == ["user", "assistant", "tool"]


def test_long_words_are_found_again_by_their_beginning() -> None:
    words = "w" * 5000
    kept = Memory().with_turn(words, (step("c1"),), {}, limit_bytes=10_000)
    made = built(user(words), bot("ok"), user("x"), memory=kept)
    assert [len(m["content"]) for m in made if m["role"] == "user"] == [5000, 1]


def test_b23_every_window_over_a_long_conversation_is_valid() -> None:
    spoken = [SYSTEM]
    turns: list[tuple[str, Step]] = []
    for number in range(12):
        words = f"u{number}" if number % 3 else "again"
        spoken += [user(words), bot(f"filler {number}"), bot(f"a{number}")]
        turns.append((words, step(*(f"c{number}_{n}" for n in range(3)), text=f"filler {number}")))
    spoken.append(user("now"))
    for limit in range(1, 31):
        for kept in range(13):
            window = [SYSTEM, *spoken[1:][-limit:]]
            made = built(*window, memory=memory(*turns[kept:]))
            assert made[0] == SYSTEM
            assert list(call_ids(made)) == [
                call.id for _, one in turns[kept:] for call in one.calls
            ]


def test_b31_without_tools_calls_and_results_are_told_in_words() -> None:
    made = built(SYSTEM, user("hi"), bot("Hm.", "c1"), result("c1"), bot("So?"), user("yes"))
    told = without_tools(made)
    assert refusals(told, tools=()) == {}
    assert told == [
        SYSTEM,
        user("hi"),
        bot("Hm.\n(I called look with {}.)"),
        user("(Result of look: found)"),
        bot("So?"),
        user("yes"),
    ]
    bare = without_tools([user("hi"), bot(None, "c1", "c2"), result("c1"), result("c2")])
    assert roles(bare) == ["user", "assistant", "user"]


TEXTS = st.sampled_from(["", " ", "a", "b", "yes"])
CONTENT = st.one_of(
    TEXTS, st.none(), st.lists(st.one_of(st.just(IMAGE), TEXTS.map(lambda t: {"text": t})))
)
IDS = st.sampled_from(["", "c1", "c2", "c3"])
ROLES = st.sampled_from(["system", "developer", "user", "assistant", "tool", "odd"])
MESSAGES = st.one_of(
    st.builds(lambda role, content: {"role": role, "content": content}, ROLES, CONTENT),
    st.builds(lambda content, ids: bot(content, *ids), CONTENT, st.lists(IDS, max_size=3)),
    st.builds(result, IDS, CONTENT),
)
STEPS = st.builds(
    lambda ids, text, model: step(*ids, text=text.strip(), model=model),
    st.lists(IDS, min_size=1, max_size=3),
    TEXTS,
    st.sampled_from(["m", "other"]),
)


@given(st.lists(MESSAGES, max_size=12), st.lists(st.tuples(TEXTS, STEPS), max_size=4))
def test_d3_8_whatever_a_hook_builds_becomes_valid_for_every_provider(
    messages: list[Message], turns: list[tuple[str, Step]]
) -> None:
    made = built(*messages, memory=memory(*turns))
    assert refusals(with_instruction(made, "Stop.")) == {}
    assert refusals(without_tools(made), tools=()) == {}
    assert len(set(call_ids(made))) == len(list(call_ids(made)))
    assert all(
        before["role"] != "user" or after["role"] != "user" for before, after in pairwise(made)
    )
