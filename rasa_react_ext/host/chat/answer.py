"""Reads a whole answer body, exactly as the provider sent it.

Odd answers are read as they are; judging them is the run's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from rasa_react_ext.engine.message import ModelAnswer, TokenUsage, ToolCall
from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.thought import visible_text

__all__ = [
    "argument_text",
    "call_extra",
    "content_text",
    "first_choice",
    "mapping",
    "mappings",
    "message_extra",
    "read_answer",
    "read_usage",
    "refusal_text",
    "text_of",
]

_MESSAGE_FIELDS = frozenset(
    {"role", "content", "tool_calls", "function_call", "refusal", "audio", "annotations", "images"}
)
_CALL_FIELDS = frozenset({"id", "type", "index", "function"})


def read_answer(peer: str, body: Any) -> ModelAnswer:
    """The answer in a chat completion body.

    Args:
        peer: Name of the model group, for errors.
        body: The decoded JSON body.

    Raises:
        ModelError: The body is no chat completion at all.
    """
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), list):
        raise ModelError(
            peer,
            f"Model {peer!r} sent no chat completion. Check that its api_base names one.",
            kind="bad_answer",
        )
    choice = first_choice(body)
    message = mapping(choice.get("message"))
    return ModelAnswer(
        text=visible_text(content_text(message.get("content"))),
        calls=tuple(_read_call(call) for call in mappings(message.get("tool_calls"))),
        finish_reason=text_of(choice.get("finish_reason")) or None,
        refusal=refusal_text(message) or None,
        extra=message_extra(message),
        usage=read_usage(body.get("usage")),
        model=text_of(body.get("model")),
    )


def first_choice(body: Any) -> Mapping[str, Any]:
    """The first choice of a body or chunk; empty without one."""
    return next(iter(mappings(mapping(body).get("choices"))), {})


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """The JSON objects in a JSON list; empty for anything else."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def text_of(value: Any) -> str:
    """The value if it is text, else empty; numbers count as text."""
    return str(value) if isinstance(value, str | int) else ""


def content_text(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [part for part in mappings(content) if part.get("type") == "text"]
    return "".join(text_of(part.get("text")) for part in parts)


def refusal_text(message: Mapping[str, Any]) -> str:
    """The refusal of a message, wherever the adapter left it; else empty."""
    nested = mapping(message.get("provider_specific_fields"))
    return text_of(message.get("refusal")) or text_of(nested.get("refusal"))


def message_extra(message: Mapping[str, Any]) -> dict[str, Any]:
    """Provider fields of a message or delta that the chat format does not know."""
    kept = {key: value for key, value in message.items() if key not in _MESSAGE_FIELDS}
    fields = kept.pop("provider_specific_fields", None)
    if isinstance(fields, Mapping):
        kept["provider_specific_fields"] = _filled(
            {key: value for key, value in fields.items() if key != "refusal"}
        )
    return _filled(kept)


def call_extra(call: Mapping[str, Any]) -> dict[str, Any]:
    """Provider fields of a tool call that the chat format does not know."""
    return _filled({key: value for key, value in call.items() if key not in _CALL_FIELDS})


def argument_text(arguments: Any) -> str | None:
    """Raw argument text; servers that send an object get it written as JSON (B13)."""
    if arguments is None or isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False)


def read_usage(usage: Any) -> TokenUsage | None:
    """Token counts, or None when the provider sent none."""
    counts = [mapping(usage).get(key) for key in ("prompt_tokens", "completion_tokens")]
    if not any(isinstance(count, int) for count in counts):
        return None
    prompt, completion = (count if isinstance(count, int) else 0 for count in counts)
    return TokenUsage(prompt=prompt, completion=completion)


def _read_call(call: Mapping[str, Any]) -> ToolCall:
    function = mapping(call.get("function"))
    return ToolCall(
        id=text_of(call.get("id")),
        name=text_of(function.get("name")),
        arguments=argument_text(function.get("arguments")),
        extra=call_extra(call),
    )


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, {}, [], "")}
