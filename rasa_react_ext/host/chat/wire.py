"""What a chat model needs of a way to reach a provider."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["Reply", "Wire", "without_idle_tool_settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What came back: a whole body, or chunks where the provider streams.

    Attributes:
        body: The decoded body of an answer that was not streamed.
        chunks: Decoded chunks in order; iterating may raise `ModelError`.
    """

    body: Any = None
    chunks: AsyncGenerator[Mapping[str, Any]] | None = None


class Wire(Protocol):
    """One way to reach a provider. May be used by many runs at once."""

    def send(
        self, parameters: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> AbstractAsyncContextManager[Reply]:
        """Send one request; leaving the context ends it.

        Args:
            parameters: The conversation in the OpenAI format: `messages` and, where
                used, `tools`, `tool_choice`, `stream`, `stream_options`.
            metadata: For the host's tracing; never sent to the model.

        Raises:
            ModelError: The provider failed before an answer began.
        """
        ...


def without_idle_tool_settings(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters; settings about tools go when there are no tools (B32)."""
    if parameters.get("tools"):
        return parameters
    idle = {"tools", "tool_choice", "parallel_tool_calls"}
    return {key: value for key, value in parameters.items() if key not in idle}
