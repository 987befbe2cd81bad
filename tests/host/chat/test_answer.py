"""A whole body is read exactly as the provider sent it."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.engine.message import ModelAnswer, ToolCall
from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.answer import read_answer
from tests.host.chat.provider import completion


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
