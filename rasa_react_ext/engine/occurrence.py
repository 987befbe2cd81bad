"""What an observer of a run is told, as it happens (design D10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.decision import Closing, Outcome
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.tool import ToolResult

__all__ = [
    "CallFinished",
    "CallStarted",
    "ModelAnswered",
    "ModelAsked",
    "ModelFailed",
    "Occurrence",
    "RunEnded",
    "RunStarted",
    "SlotSet",
    "Spoke",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """An agent turn begins."""

    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """A model call begins; attempts of one call count from 1."""

    attempt: int
    messages: int
    closing: Closing | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered:
    """A model call ended well."""

    answer: ModelAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed:
    """An attempt failed; `retry_in_seconds` is None for the last one."""

    kind: str
    message: str
    retry_in_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A tool begins to run."""

    call: Planned


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A call is answered; `duration_ms` is None for calls that ran no tool."""

    call: Planned
    result: ToolResult
    duration_ms: float | None
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSet:
    """A slot was set by a tool call of the model."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoke:
    """The user saw a text.

    Attributes:
        text: Exactly what was seen.
        kind: `filler`, `input_required` or `final_response`.
        answer: The answer it came from.
        streamed: It was shown as it came.
        interrupted: The stream was broken off.
    """

    text: str
    kind: str
    answer: ModelAnswer
    streamed: bool
    interrupted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The turn is over; `kind` is the class of a failure that is not the last model call's."""

    outcome: Outcome
    reason: str
    model_calls: int
    tokens: int
    kind: str = ""


Occurrence = (
    RunStarted
    | ModelAsked
    | ModelAnswered
    | ModelFailed
    | CallStarted
    | CallFinished
    | SlotSet
    | Spoke
    | RunEnded
)
