"""A tool as the engine sees it, and the result of calling one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CallContext", "Tool", "ToolResult"]


def _ignored() -> None:
    """A sign of life that nobody waits for."""


async def _untold(text: str) -> None:
    """A text that nobody hears."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that can be offered to a model.

    Attributes:
        name: Name offered to the model; fits every provider's pattern.
        description: Text for the model.
        parameters: JSON schema of the arguments, an object schema.
        strict: Whether the schema may be sent in the provider's strict mode.
        origin: Server that has the tool, or empty for Python tools.
        origin_name: The tool's name at its origin.
        read_only: The tool declares that it changes nothing.
        idempotent: The tool declares that calling it twice equals calling it once.
        destructive: The tool declares that it may destroy something.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    strict: bool = False
    origin: str = ""
    origin_name: str = ""
    read_only: bool = False
    idempotent: bool = False
    destructive: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether a lost call may be sent again (MCP 2025-06-18, tool annotations)."""
        return self.read_only or self.idempotent

    def definition(self) -> dict[str, Any]:
        """The tool in the OpenAI function-calling format."""
        function: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "parameters": dict(self.parameters),
        }
        if self.strict:
            function["strict"] = True
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallContext:
    """What travels with a tool call besides its arguments.

    Attributes:
        call_id: Id of the call, unique within the run.
        timeout_seconds: Time the call may take without a sign of life.
        limit_seconds: Time it may take at most when the tool reports progress; None
            means that progress extends nothing.
        meta: Metadata for the tool's origin, never shown to the model.
        alive: To be called at each sign of life: whoever waits for the call waits on,
            up to the limit.
        tell: Shows the user a text while the call runs, as a filler.
    """

    call_id: str
    timeout_seconds: float
    limit_seconds: float | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    alive: Callable[[], None] = _ignored
    tell: Callable[[str], Awaitable[None]] = _untold


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of one tool call.

    Attributes:
        text: What the model sees; for an error, what went wrong and what to do.
        is_error: Whether the call failed.
        value: The structured value where the tool gave one, else None.
        outcome_unknown: The call may or may not have taken effect.
        whole: The whole text where `text` was cut to size; None where it was not.
        question: What the user must be asked before anything else: the turn ends with it.
    """

    text: str
    is_error: bool = False
    value: Any = None
    outcome_unknown: bool = False
    whole: str | None = None
    question: str = ""

    @property
    def full_text(self) -> str:
        """The text as the tool gave it, for everybody but the model."""
        return self.text if self.whole is None else self.whole
