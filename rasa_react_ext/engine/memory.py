"""What a run learnt in earlier turns, kept with the conversation.

An append-only list of turns, each with the user's words and the steps that
called tools, as plain JSON for the host's frame metadata (design D3.7). Size is
bounded: the oldest results are shortened first. No host and no storage here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rasa_react_ext.engine.step import CallRecord, Step

__all__ = ["Memory", "TurnMemory"]

VERSION = 1
SHORT = 120
SHORTENED = "[older result, shortened]"


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
        except (KeyError, TypeError, ValueError):
            return empty

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "v": VERSION,
            "flow": self.flow,
            "step": self.step,
            "turns": [_turn_json(turn) for turn in self.turns],
            "slots": dict(self.slots),
        }

    def with_turn(
        self, user: str, steps: tuple[Step, ...], slots: Mapping[str, Any], *, limit_bytes: int
    ) -> Memory:
        """The memory after one more turn, kept under `limit_bytes` of JSON text.

        Results are shortened from the oldest on; if that is not enough, the oldest
        turns are dropped.
        """
        turns = (*self.turns, TurnMemory(user=user, steps=steps)) if steps else self.turns
        grown = replace(self, turns=turns, slots={**self.slots, **slots})
        return grown._compacted(limit_bytes)

    def _compacted(self, limit_bytes: int) -> Memory:
        turns = list(self.turns)
        sizes = [_size(turn) for turn in turns]
        for index, turn in enumerate(turns):
            if sum(sizes) <= limit_bytes:
                break
            turns[index] = replace(turn, steps=tuple(_short(step) for step in turn.steps))
            sizes[index] = _size(turns[index])
        while turns and sum(sizes) > limit_bytes:
            del turns[0], sizes[0]
        return replace(self, turns=tuple(turns))


def _size(turn: TurnMemory) -> int:
    return len(json.dumps(_turn_json(turn), ensure_ascii=False).encode())


def _short(step: Step) -> Step:
    return replace(step, calls=tuple(_short_call(call) for call in step.calls), extra={})


def _short_call(call: CallRecord) -> CallRecord:
    if len(call.result) <= SHORT + len(SHORTENED):
        return call
    return replace(call, result=f"{call.result[:SHORT]} {SHORTENED}")


def _turn_json(turn: TurnMemory) -> dict[str, Any]:
    return {"user": turn.user, "steps": [_step_json(step) for step in turn.steps]}


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
    optional = (
        {"extra": dict(step.extra), "model": step.model}
        if step.extra or any(call.extra for call in step.calls)
        else {}
    )
    return {"text": step.text, "calls": calls, **optional}


def _turn(stored: Mapping[str, Any]) -> TurnMemory:
    steps = tuple(
        Step(
            text=str(step["text"]),
            calls=tuple(
                CallRecord(
                    id=str(call["id"]),
                    name=str(call["name"]),
                    arguments=str(call["arguments"]),
                    result=str(call["result"]),
                    extra=dict(call.get("extra") or {}),
                )
                for call in step["calls"]
            ),
            extra=dict(step.get("extra") or {}),
            model=str(step.get("model") or ""),
        )
        for step in stored["steps"]
    )
    return TurnMemory(user=str(stored["user"]), steps=steps)
