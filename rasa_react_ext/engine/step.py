"""One step of a run that called tools: its calls, their results, its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rasa_react_ext.engine.message import Message

__all__ = ["CallRecord", "Step", "safe_word"]

WORD_LIMIT = 64


def safe_word(word: str) -> str:
    """A name or id of which every provider accepts each character; may be empty."""
    kept = (c if (c.isascii() and c.isalnum()) or c in "_-" else "_" for c in word[:WORD_LIMIT])
    return "".join(kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One answered tool call, in a form every provider accepts.

    Attributes:
        id: Unique within the run.
        name: Tool name, safe for every provider.
        arguments: A valid JSON text, whatever the model wrote.
        result: What the model was told.
        extra: Opaque provider fields of the call.
    """

    id: str
    name: str
    arguments: str
    result: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A model answer with tool calls, and their results in call order.

    Attributes:
        text: What the user saw beside the calls, else empty.
        calls: The calls; never empty.
        extra: Opaque provider fields of the assistant message.
        model: The model that answered; extras go back only to it.
    """

    text: str = ""
    calls: tuple[CallRecord, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""

    def messages(self) -> list[Message]:
        """The assistant message, directly followed by one result per call."""
        calls = [
            {
                **call.extra,
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in self.calls
        ]
        assistant: Message = {
            **self.extra,
            "role": "assistant",
            "content": self.text or None,
            "tool_calls": calls,
        }
        results: list[Message] = [
            {"role": "tool", "tool_call_id": call.id, "content": call.result} for call in self.calls
        ]
        return [assistant, *results]

    def seen_by(self, model: str) -> Step:
        """The step as `model` may see it: another model's own fields and ids mean nothing to it."""
        if self.model == model:
            return self
        calls = tuple(replace(call, id=safe_word(call.id), extra={}) for call in self.calls)
        return replace(self, calls=calls, extra={})
