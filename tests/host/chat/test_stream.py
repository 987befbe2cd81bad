"""Deltas of a streamed answer become one answer, whatever the server's habits."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.engine.message import TokenUsage
from rasa_react_ext.host.chat.stream import Assembly
from tests.host.chat.provider import USAGE, chunk


def fragment(
    index: int | None = None,
    call_id: str | None = None,
    name: str | None = None,
    arguments: Any = None,
) -> dict[str, Any]:
    """One tool-call delta, fields left out that are None."""
    function = {"name": name, "arguments": arguments}
    given = {"index": index, "id": call_id}
    return {
        **{key: value for key, value in given.items() if value is not None},
        "function": {key: value for key, value in function.items() if value is not None},
    }


def assembled(*deltas: dict[str, Any]) -> Assembly:
    assembly = Assembly()
    for delta in deltas:
        assembly.feed(chunk(delta))
    assembly.finish()
    return assembly


def calls(*fragments: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    """Id, name and arguments of the calls that fragments, one per chunk, make."""
    answer = assembled(*({"tool_calls": [each]} for each in fragments)).answer()
    return [(call.id, call.name, call.arguments) for call in answer.calls]


def test_b37_interleaved_fragments_are_joined_by_index() -> None:
    assert calls(
        fragment(0, "a", "x"),
        fragment(1, "b", "y"),
        fragment(0, arguments='{"p":'),
        fragment(1, arguments='{"q":2}'),
        fragment(0, arguments="1}"),
    ) == [("a", "x", '{"p":1}'), ("b", "y", '{"q":2}')]


def test_b37_calls_are_ordered_by_index() -> None:
    assert calls(fragment(1, "b", "y", "{}"), fragment(0, "a", "x", "{}")) == [
        ("a", "x", "{}"),
        ("b", "y", "{}"),
    ]


def test_b37_two_fragments_in_one_chunk_belong_to_two_calls() -> None:
    both = [fragment(None, "a", "x", "{}"), fragment(None, "b", "y", "{}")]
    answer = assembled({"tool_calls": both}).answer()
    assert [call.id for call in answer.calls] == ["a", "b"]


def test_b38_id_and_name_may_come_in_different_chunks() -> None:
    assert calls(fragment(0, "a"), fragment(0, name="x"), fragment(0, arguments="{}")) == [
        ("a", "x", "{}")
    ]


def test_b38_arguments_may_come_before_id_and_name() -> None:
    assert calls(fragment(0, arguments="{"), fragment(0, "a", "x", "}")) == [("a", "x", "{}")]


def test_b38_an_empty_value_never_overwrites() -> None:
    assert calls(fragment(0, "a", "x", ""), fragment(0, "", "", "{}")) == [("a", "x", "{}")]


def test_b38_a_repeated_or_growing_name_is_kept_once() -> None:
    repeated = [fragment(0, "a", "find", '{"q"'), fragment(0, "a", "find", ":1}")]
    growing = [fragment(0, "a", "fi", '{"q"'), fragment(0, "a", "find", ":1}")]
    pieces = [fragment(0, "a", "fi", '{"q"'), fragment(0, "a", "nd", ":1}")]
    for fragments in (repeated, growing, pieces):
        assert calls(*fragments) == [("a", "find", '{"q":1}')]


def test_b38_a_new_id_with_each_fragment_is_still_one_call() -> None:
    assert calls(fragment(0, "a", "x", '{"q"'), fragment(0, "b", "x", ":1}")) == [
        ("a", "x", '{"q":1}')
    ]


def test_b37_a_missing_index_continues_the_last_call() -> None:
    assert calls(
        fragment(call_id="a", name="x", arguments="{"),
        fragment(arguments="}"),
        fragment(call_id="b", name="y", arguments="{"),
        fragment(call_id="b", arguments="}"),
        fragment(call_id="a", arguments=" "),
    ) == [("a", "x", "{} "), ("b", "y", "{}")]


@pytest.mark.parametrize("index", [0, None])
@pytest.mark.parametrize("ids", [("a", "b"), ("", "")])
@pytest.mark.parametrize("names", [("x", "y"), ("x", "x")])
def test_b37_whole_calls_under_one_index_are_kept_apart(
    index: int | None, ids: tuple[str, str], names: tuple[str, str]
) -> None:
    one, two = '{"q": 1}', '{"q": 2}'
    assert calls(
        fragment(index, ids[0], names[0], one), fragment(index, ids[1], names[1], two)
    ) == [(ids[0], names[0], one), (ids[1], names[1], two)]


def test_b37_calls_without_arguments_under_one_index_are_kept_apart() -> None:
    assert calls(fragment(0, "a", "x", ""), fragment(0, "b", "y", "")) == [
        ("a", "x", ""),
        ("b", "y", ""),
    ]


def test_b37_a_finished_call_sent_again_is_one_call() -> None:
    pieces = [fragment(0, "a", "x", '{"q"'), fragment(0, arguments=":1}")]
    assert calls(*pieces, fragment(0, "a", "x", '{"q":1}')) == [("a", "x", '{"q":1}')]


def test_arguments_sent_as_an_object_become_text() -> None:
    assert calls(fragment(0, "a", "x", {"q": "é"})) == [("a", "x", '{"q": "é"}')]


def test_b13_absent_and_empty_arguments_stay_what_they_are() -> None:
    assert calls(fragment(0, "a", "x"), fragment(1, "b", "y", "")) == [
        ("a", "x", None),
        ("b", "y", ""),
    ]


def test_finish_reason_and_usage_may_come_last() -> None:
    assembly = Assembly()
    assert assembly.feed(chunk({"role": "assistant", "content": "Hi"})) == "Hi"
    assembly.feed(chunk({}, "length"))
    assembly.feed(chunk({}))
    assembly.feed(USAGE)
    answer = assembly.answer()
    assert (answer.finish_reason, answer.model) == ("length", "served-model")
    assert answer.usage == TokenUsage(prompt=7, completion=3)


def test_chunks_without_choices_or_delta_are_harmless() -> None:
    assembly = Assembly()
    for odd in ({}, {"choices": []}, {"choices": [{}]}, {"choices": [{"delta": None}]}):
        assert assembly.feed(odd) == ""
    assert assembly.answer().text == ""


def test_b06_reasoning_is_no_text_but_is_kept_for_the_provider() -> None:
    answer = assembled(
        {"reasoning_content": "I "}, {"reasoning_content": "think"}, {"content": "Hello"}
    ).answer()
    assert answer.text == "Hello"
    assert answer.extra == {"reasoning_content": "I think"}


def test_content_parts_are_read_without_thinking_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "secret"}]}
    answer = assembled({"content": [thinking]}, {"content": [{"type": "text", "text": "Hi"}]})
    assert answer.answer().text == "Hi"


def test_a_refusal_is_joined() -> None:
    assert assembled({"refusal": "I can"}, {"refusal": "not."}).answer().refusal == "I cannot."


def test_b33_signed_thinking_blocks_are_joined_as_one() -> None:
    def block(**fields: str) -> dict[str, Any]:
        return {"thinking_blocks": [{"type": "thinking", **fields}]}

    redacted = {"type": "redacted_thinking", "data": "xyz"}
    answer = assembled(
        block(thinking="I "),
        block(thinking="think"),
        block(thinking="", signature="sig"),
        {"thinking_blocks": [redacted]},
        {"thinking_blocks": [redacted]},
        block(thinking="again"),
    ).answer()
    assert answer.extra["thinking_blocks"] == [
        {"type": "thinking", "thinking": "I think", "signature": "sig"},
        redacted,
        redacted,
        {"type": "thinking", "thinking": "again"},
    ]


def test_b33_provider_fields_of_message_and_call_are_kept() -> None:
    signed = {"google": {"thought_signature": "abc"}}
    call = fragment(0, "a", "x", "{}") | {"extra_content": signed}
    answer = assembled(
        {"tool_calls": [call], "provider_specific_fields": {"refusal": None, "k": "v"}},
        {"provider_specific_fields": {"l": {"m": 1}}},
        {"provider_specific_fields": {"l": {"n": 2}}},
    ).answer()
    assert answer.calls[0].extra == {"extra_content": signed}
    assert answer.extra == {"provider_specific_fields": {"k": "v", "l": {"m": 1, "n": 2}}}


def test_b33_assembling_does_not_change_the_chunks() -> None:
    first = {"thinking_blocks": [{"type": "thinking", "thinking": "a"}]}
    assembled(first, {"thinking_blocks": [{"type": "thinking", "thinking": "b"}]})
    assert first["thinking_blocks"][0]["thinking"] == "a"
