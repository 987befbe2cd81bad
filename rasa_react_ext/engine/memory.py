"""What a run learnt in earlier turns, kept with the conversation.

An append-only list of turns, each with the user's words and the steps that
called tools, as plain JSON for the host's frame metadata (design D3.7). Size is
bounded: the oldest results are shortened first. No host and no storage here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rasa_react_ext.engine.step import CallRecord, Step
from rasa_react_ext.engine.text import sound

__all__ = ["Memory", "TurnMemory", "remembered_words"]

VERSION = 1
SHORT = 120
SHORTENED = "[older result, shortened]"
WORDS_LIMIT = 1000


def remembered_words(text: str) -> str:
    """As much of a user's message as is kept to find it again."""
    return sound(text[:WORDS_LIMIT])


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMemory:
    """One turn of the run: what the user said and what was done about it."""

    user: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A run's memory.

    Attributes:
        flow: Flow that called the agent; memory of another flow is not used.
        step: Step of that flow.
        turns: Earlier turns, oldest first.
        slots: Slots this run has set, with their last values.
    """

    flow: str = ""
    step: str = ""
    turns: tuple[TurnMemory, ...] = ()
    slots: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, stored: object, *, flow: str, step: str) -> Memory:
        """Read what `to_json` wrote; anything foreign or damaged is an empty memory."""
        empty = cls(flow=flow, step=step)
        if not isinstance(stored, Mapping) or stored.get("v") != VERSION:
            return empty
        if stored.get("flow") != flow or stored.get("step") != step:
            return empty
        try:
            turns = tuple(_turn(turn) for turn in stored["turns"])
            return cls(flow=flow, step=step, turns=turns, slots=dict(stored["slots"]))
        except (AttributeError, KeyError, TypeError, ValueError):
            return empty

    @property
    def model(self) -> str:
        """The model that answered last; empty when nothing is remembered."""
        return self.turns[-1].steps[-1].model if self.turns else ""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "v": VERSION,
            "flow": self.flow,
            "step": self.step,
            "turns": [
                {"user": turn.user, "steps": [_step_json(step) for step in turn.steps]}
                for turn in self.turns
            ],
            "slots": dict(self.slots),
        }

    def call(self, call_id: str) -> CallRecord | None:
        """The remembered call of this id."""
        calls = (call for turn in self.turns for step in turn.steps for call in step.calls)
        return next((call for call in calls if call.id == call_id), None)

    def with_results(self, results: Mapping[str, str]) -> Memory:
        """The memory in which these calls have other results, by their ids."""
        memory = self
        for call_id, result in results.items():
            memory = memory.with_result(call_id, result)
        return memory

    def with_result(self, call_id: str, result: str) -> Memory:
        """The memory in which this call has another result."""
        turns = (
            replace(turn, steps=tuple(_with_result(step, call_id, result) for step in turn.steps))
            for turn in self.turns
        )
        return replace(self, turns=tuple(turns))

    def with_turn(
        self, user: str, steps: tuple[Step, ...], slots: Mapping[str, Any], *, limit_bytes: int
    ) -> Memory:
        """The memory after one more turn, its turns kept under `limit_bytes` of JSON text.

        From the oldest on, first results are shortened, then arguments, then steps are
        forgotten.
        """
        turn = TurnMemory(user=remembered_words(user), steps=steps)
        turns = (*self.turns, turn) if steps else self.turns
        grown = replace(self, turns=turns, slots={**self.slots, **slots})
        return grown._compacted(limit_bytes)

    def _compacted(self, limit_bytes: int) -> Memory:
        kept = [(index, step) for index, turn in enumerate(self.turns) for step in turn.steps]
        excess = sum(_size(_step_json(step)) for _, step in kept) - limit_bytes
        excess += sum(map(_own_size, self.turns))
        for shorten in (_short_results, _short_arguments):
            excess = _shortened(kept, excess, shorten)
        while kept and excess > 0:
            index, step = kept.pop(0)
            excess -= _size(_step_json(step))
            if not kept or kept[0][0] != index:
                excess -= _own_size(self.turns[index])
        turns = (
            replace(turn, steps=tuple(step for owner, step in kept if owner == index))
            for index, turn in enumerate(self.turns)
        )
        return replace(self, turns=tuple(turn for turn in turns if turn.steps))


def _shortened(kept: list[tuple[int, Step]], excess: int, shorten: Callable[[Step], Step]) -> int:
    """Shorten steps, the oldest first, until nothing exceeds; returns what still does."""
    for place, (turn, step) in enumerate(kept):
        if excess <= 0:
            break
        kept[place] = (turn, shorten(step))
        excess -= _size(_step_json(step)) - _size(_step_json(kept[place][1]))
    return excess


def _with_result(step: Step, call_id: str, result: str) -> Step:
    calls = (replace(call, result=result) if call.id == call_id else call for call in step.calls)
    return replace(step, calls=tuple(calls))


def _own_size(turn: TurnMemory) -> int:
    return _size({"user": turn.user, "steps": []})


def _size(value: Any) -> int:
    """Bytes of JSON text, with the separator behind it."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")) + 2


def _short_results(step: Step) -> Step:
    calls = tuple(replace(call, result=_short(call.result)) for call in step.calls)
    return replace(step, calls=calls, extra={})


def _short(result: str) -> str:
    if len(result) <= SHORT + len(SHORTENED):
        return result
    return f"{result[:SHORT]}{SHORTENED}"


def _short_arguments(step: Step) -> Step:
    calls = tuple(
        call
        if len(call.arguments) <= SHORT
        else replace(call, arguments=json.dumps({"shortened": call.arguments[:SHORT]}))
        for call in step.calls
    )
    return replace(step, calls=calls)


def _step_json(step: Step) -> dict[str, Any]:
    calls = [
        {
            "id": call.id,
            "name": call.name,
            "arguments": call.arguments,
            "result": call.result,
            **({"extra": dict(call.extra)} if call.extra else {}),
        }
        for call in step.calls
    ]
    extra = {"extra": dict(step.extra)} if step.extra else {}
    return {"text": step.text, "model": step.model, "calls": calls, **extra}


def _turn(stored: Mapping[str, Any]) -> TurnMemory:
    steps = tuple(_step(step) for step in stored["steps"])
    if not steps:
        raise ValueError("A turn without steps is never kept.")
    return TurnMemory(user=str(stored["user"]), steps=steps)


def _step(stored: Mapping[str, Any]) -> Step:
    calls = tuple(_call(call) for call in stored["calls"])
    if not calls:
        raise ValueError("A step without calls is never kept.")
    return Step(
        text=str(stored["text"]),
        calls=calls,
        extra=dict(stored.get("extra") or {}),
        model=str(stored.get("model") or ""),
    )


def _call(stored: Mapping[str, Any]) -> CallRecord:
    return CallRecord(
        id=str(stored["id"]),
        name=str(stored["name"]),
        arguments=str(stored["arguments"]),
        result=str(stored["result"]),
        extra=dict(stored.get("extra") or {}),
    )
