"""One step of a run that called tools: its calls, their results, its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rasa_react_ext.engine.message import Message

__all__ = ["CallRecord", "Step"]


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

    def without_extras(self) -> Step:
        """The same step for another model, which must not see foreign fields."""
        return Step(
            text=self.text,
            calls=tuple(
                CallRecord(id=c.id, name=c.name, arguments=c.arguments, result=c.result)
                for c in self.calls
            ),
            model=self.model,
        )
