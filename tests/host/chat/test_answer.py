"""A whole body is read exactly as the provider sent it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rasa_react_ext.engine.message import ModelAnswer, ToolCall
from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.answer import read_answer
from rasa_react_ext.host.chat.stream import Assembly
from tests.host.chat.provider import completion

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "<think>", "{}"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "function", "name", "arguments", "type"]), inner)
    ),
    max_leaves=6,
)
FIELDS = (
    "content",
    "tool_calls",
    "refusal",
    "provider_specific_fields",
    "reasoning_content",
    "thinking_blocks",
)
MESSAGES = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JSON))
CHOICES = st.fixed_dictionaries(
    {}, optional={"message": MESSAGES | JSON, "delta": MESSAGES | JSON, "finish_reason": JSON}
)
BODIES = st.fixed_dictionaries(
    {"choices": st.lists(CHOICES | JSON, max_size=2)}, optional={"usage": JSON, "model": JSON}
)


@given(BODIES)
def test_no_shape_of_a_body_is_a_crash(body: Any) -> None:
    answer = read_answer("sales", body)
    assert isinstance(answer.text, str)
    assert all(isinstance(call.name, str) for call in answer.calls)


@given(st.lists(BODIES | JSON, max_size=4))
def test_no_shape_of_chunks_is_a_crash(chunks: list[Any]) -> None:
    assembly = Assembly()
    shown = "".join([assembly.feed(chunk) for chunk in chunks] + [assembly.finish()])
    assert assembly.answer().text == shown


def read(message: dict[str, Any], **choice: Any) -> ModelAnswer:
    return read_answer("sales", completion(message, **choice))


def test_b33_calls_keep_their_raw_arguments_and_extras() -> None:
    signed = {"google": {"thought_signature": "abc"}}
    answer = read(
        {
            "content": None,
            "tool_calls": [
                {"id": "a", "function": {"name": "x", "arguments": '{"q": 1,}'}},
                {"function": {"name": "y", "arguments": {"q": 1}}, "extra_content": signed},
                {"id": None, "function": {"name": "z"}},
            ],
        },
        finish_reason="tool_calls",
    )
    assert answer.calls == (
        ToolCall(id="a", name="x", arguments='{"q": 1,}'),
        ToolCall(id="", name="y", arguments='{"q": 1}', extra={"extra_content": signed}),
        ToolCall(id="", name="z", arguments=None),
    )
    assert answer.finish_reason == "tool_calls"


def test_b33_provider_fields_are_kept_and_noise_is_not() -> None:
    answer = read(
        {
            "role": "assistant",
            "content": "Hi",
            "annotations": [],
            "function_call": None,
            "reasoning_content": "hm",
            "thinking_blocks": [{"type": "thinking", "signature": "sig"}],
            "provider_specific_fields": {"refusal": None, "citations": None},
        }
    )
    assert answer.extra == {
        "reasoning_content": "hm",
        "thinking_blocks": [{"type": "thinking", "signature": "sig"}],
    }


@pytest.mark.parametrize(
    "message", [{"refusal": "No."}, {"provider_specific_fields": {"refusal": "No."}}]
)
def test_a_refusal_is_read(message: dict[str, Any]) -> None:
    assert read(message).refusal == "No."


def test_b06_blank_answers_are_read_as_empty_text() -> None:
    for content in (None, "", " \n", "<think>secret</think>", [], [{"type": "thinking"}]):
        assert read({"content": content}).text == ""
    assert read_answer("sales", {"choices": []}) == ModelAnswer()
    assert read_answer("sales", {"choices": [{"message": None}]}) == ModelAnswer()


def test_b34_a_filtered_answer_is_the_runs_to_judge() -> None:
    assert read({"content": None}, finish_reason="content_filter").finish_reason == "content_filter"


def test_odd_usage_counts_as_none() -> None:
    for usage in (None, {}, {"prompt_tokens": None}, [1]):
        assert read_answer("sales", {"choices": [], "usage": usage}).usage is None


@pytest.mark.parametrize("body", [None, [], "text", {}, {"choices": None}, {"object": "list"}])
def test_a_body_that_is_no_completion_is_a_bad_answer(body: Any) -> None:
    with pytest.raises(ModelError, match="'sales'") as caught:
        read_answer("sales", body)
    assert caught.value.kind == "bad_answer"
