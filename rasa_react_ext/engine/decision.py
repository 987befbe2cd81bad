"""The state of one agent turn, and the actions a decision can ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.engine.step import Step
from rasa_react_ext.engine.text import sound, visible
from rasa_react_ext.engine.tool import Tool, ToolResult

if TYPE_CHECKING:
    from rasa_react_ext.engine.batch import Batch, Planned

__all__ = [
    "Action",
    "Ask",
    "CallDone",
    "Closing",
    "Execute",
    "Finish",
    "Outcome",
    "Review",
    "Rules",
    "Run",
    "Say",
    "SlotChanged",
    "Speech",
]


class Outcome(Enum):
    """How an agent turn ended."""

    COMPLETED = "completed"
    INPUT_REQUIRED = "input_required"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Closing(Enum):
    """Why one last text-only answer is asked for."""

    COMPLETION = "completion"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What does not change during a run.

    Attributes:
        max_steps: Model calls in one turn; a closing call comes on top.
        max_tokens: Tokens in one turn, where the provider counts them.
        max_repeats: Equal results of one call, refusals of one name, or cut-off answers,
            in a row, that end a turn.
        on_limit: `ask` ends with *input required*, `fail` with a failure.
        on_cancel: `wait` keeps the flow alive, `end` ends it.
        fillers: Whether text beside tool calls is shown.
        slots: Slot of each `set_slot_` tool by the tool's name; empty for open agents.
        completes: Name of the tool that ends an open run; empty for task agents.
        condition: Whether the exit conditions hold for these slots; None for open agents.
        owes_answer: The user's message answers a question about a call: the model hears it
            before the exit conditions can end the run.
        resumed: Calls of an earlier turn that go on before anything else happens.
    """

    max_steps: int = 10
    max_tokens: int | None = None
    max_repeats: int = 3
    on_limit: Literal["ask", "fail"] = "ask"
    on_cancel: Literal["wait", "end"] = "wait"
    fillers: bool = True
    slots: Mapping[str, SlotSpec] = field(default_factory=dict)
    completes: str = ""
    condition: Callable[[Mapping[str, Any]], bool] | None = None
    owes_answer: bool = False
    resumed: tuple[Planned, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """State of one agent turn.

    Attributes:
        rules: What does not change.
        tools: Tools the model may call, by name, without the built-in ones.
        slots: Values of all slots; the same object as long as none has changed.
        slots_set: Slots set in this turn, with their last values.
        steps: Answers with calls and their results, oldest first.
        settled: New results of calls of earlier turns, by their ids.
        used_ids: Ids of calls in the history, this turn's included.
        model_calls: Answers of the model so far.
        tokens: Tokens of these answers.
        blanks: Blank answers in a row.
        cuts: Answers with calls, in a row, that were cut off.
        repeats: Last result of each call by its key, and how often in a row.
        refusals: How often in a row a name was refused.
        batch: The calls that run now.
        closing: Why the one last answer is asked for.
        limit: The budget that ran out.
        ended: The turn is over.
    """

    rules: Rules
    tools: Mapping[str, Tool] = field(default_factory=dict)
    slots: Mapping[str, Any] = field(default_factory=dict)
    slots_set: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    settled: Mapping[str, str] = field(default_factory=dict)
    used_ids: frozenset[str] = frozenset()
    model_calls: int = 0
    tokens: int = 0
    blanks: int = 0
    cuts: int = 0
    repeats: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    refusals: Mapping[str, int] = field(default_factory=dict)
    batch: Batch | None = None
    closing: Closing | None = None
    limit: str = ""
    ended: bool = False

    def exit_met(self) -> bool:
        """Whether the exit conditions hold; never for open agents."""
        return self.rules.condition is not None and self.rules.condition(self.slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """The text of an answer, and whether the user has seen it."""

    answer: ModelAnswer
    shown: bool

    @property
    def text(self) -> str:
        """The text without surrounding blanks; empty when there is none to see."""
        return visible(sound(self.answer.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask the model; with `closing` for text only."""

    closing: Closing | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Deliver a text, unless it was shown, and record it."""

    speech: Speech
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Execute:
    """Run these calls at once and report with `ran`; may be empty."""

    calls: tuple[Planned, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDone:
    """One call of a batch is answered: record it."""

    planned: Planned
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotChanged:
    """A slot has a new value: record it."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Show the successful tool calls to the user's hook and report with `reviewed`."""

    calls: tuple[CallDone, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """The agent turn is over.

    Attributes:
        outcome: How it ended.
        text: The pending question, for *input required*.
        reason: Why, for the developer; empty for ordinary ends.
        kind: Class of a failure: `content_filter`, `blank_answers`, or a budget with `_limit`;
            empty where the model's own failure tells it.
    """

    outcome: Outcome
    text: str = ""
    reason: str = ""
    kind: str = ""


Action = Ask | Say | Execute | CallDone | SlotChanged | Review | Finish
