"""Reads a whole answer body, exactly as the provider sent it.

Odd answers are read as they are; judging them is the run's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from rasa_react_ext.engine.message import ModelAnswer, TokenUsage, ToolCall
from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.thought import visible_text

__all__ = [
    "argument_text",
    "call_extra",
    "content_text",
    "message_extra",
    "read_answer",
    "read_usage",
    "refusal_text",
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
    if not isinstance(body, Mapping) or not isinstance(body.get("choices"), Sequence):
        raise ModelError(
            peer,
            f"Model {peer!r} sent no chat completion. Check that its api_base names one.",
            kind="bad_answer",
        )
    choice = cast("Mapping[str, Any]", next(iter(body["choices"]), None) or {})
    message = cast("Mapping[str, Any]", choice.get("message") or {})
    return ModelAnswer(
        text=visible_text(content_text(message.get("content"))),
        calls=tuple(_read_call(call) for call in message.get("tool_calls") or ()),
        finish_reason=choice.get("finish_reason"),
        refusal=refusal_text(message),
        extra=message_extra(message),
        usage=read_usage(body.get("usage")),
        model=str(body.get("model") or ""),
    )


def content_text(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = [part for part in content if isinstance(part, Mapping)]
    return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")


def refusal_text(message: Mapping[str, Any]) -> str | None:
    """The refusal of a message, wherever the adapter left it."""
    fields = message.get("provider_specific_fields")
    nested = fields.get("refusal") if isinstance(fields, Mapping) else None
    return message.get("refusal") or nested or None


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
    if not isinstance(usage, Mapping):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(prompt, int) and not isinstance(completion, int):
        return None
    return TokenUsage(prompt=int(prompt or 0), completion=int(completion or 0))


def _read_call(call: Mapping[str, Any]) -> ToolCall:
    function = cast("Mapping[str, Any]", call.get("function") or {})
    return ToolCall(
        id=str(call.get("id") or ""),
        name=str(function.get("name") or ""),
        arguments=argument_text(function.get("arguments")),
        extra=call_extra(call),
    )


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, {}, [], "")}
