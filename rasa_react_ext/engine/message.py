"""What is said to a model and what it answers.

Messages are plain dicts in the OpenAI chat format, because that is what users'
hooks build and what every provider adapter speaks. Answers are dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Message", "ModelAnswer", "ModelRequest", "TokenUsage", "ToolCall"]

Message = dict[str, Any]
"""One chat message: `role`, `content` and, by role, `tool_calls` or `tool_call_id`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool call of a model answer, exactly as the provider sent it.

    Attributes:
        id: The provider's id; may be empty or repeated.
        name: The name the model wrote.
        arguments: Raw argument text, not yet parsed; None when the field was absent.
        extra: Opaque provider fields of the call, to be sent back unchanged.
    """

    id: str
    name: str
    arguments: str | None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUsage:
    """Tokens of one model call, as the provider counted them."""

    prompt: int
    completion: int

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One model call.

    Attributes:
        messages: The whole conversation, valid for strict providers.
        tools: Tool definitions in the OpenAI format; may be empty.
        allow_tools: False asks the provider to list the tools but forbid calls
            (`tool_choice: none`).
        timeout_seconds: Total time this call may take.
        metadata: Tracing metadata for the host's tracing, never sent to the model.
        max_tokens: Length limit of the answer; None leaves it to the model's settings.
    """

    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    allow_tools: bool = True
    timeout_seconds: float
    metadata: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """One model answer, read raw.

    Attributes:
        text: Visible text, without thinking blocks; empty when there is none.
        calls: Tool calls in the order of the answer.
        finish_reason: The provider's reason, e.g. `stop`, `tool_calls`, `length`.
        refusal: The provider's refusal text, if it sent one.
        extra: Opaque provider fields of the assistant message (e.g. thinking
            signatures), to be sent back unchanged.
        usage: Token counts, if the provider reports them.
        model: Name of the model that answered.
        first_token_ms: Time to the first visible text when streamed.
        total_ms: Time of the whole call.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    refusal: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    usage: TokenUsage | None = None
    model: str = ""
    first_token_ms: float | None = None
    total_ms: float | None = None
