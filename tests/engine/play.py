"""Plays the pure rules of a run in tests, without a driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine.decision import (
    Action,
    Execute,
    Finish,
    Review,
    Rules,
    Run,
    Say,
)
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.engine.tool import Tool, ToolResult
from tests.engine.fake import ok, tool

OPEN = Rules(completes="task_completed")
NUMBER = Tool(
    name="count",
    description="Counts.",
    parameters={
        "type": "object",
        "properties": {"to": {"type": "integer"}},
        "required": ["to"],
    },
)


def task(*needed: str, **more: Any) -> Rules:
    """Rules of a task agent that is done when these text slots are set."""
    return Rules(
        slots={f"set_slot_{name}": SlotSpec(name=name, type="text") for name in needed},
        condition=lambda slots: all(slots.get(name) is not None for name in needed),
        **more,
    )


@dataclass
class Play:
    """Plays a run: tools answer `ok()` unless told otherwise by name."""

    rules: Rules = OPEN
    results: dict[str, ToolResult] = field(default_factory=dict)
    hooked: dict[str, Any] = field(default_factory=dict)
    slots: dict[str, Any] = field(default_factory=dict)
    actions: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run = Run(rules=self.rules, slots=self.slots)
        self.run = rules.offered(self.run, [tool("look"), tool("book"), NUMBER])
        self._take(rules.begin(self.run))

    def say(self, given: ModelAnswer, *, shown: bool = False) -> list[Action]:
        """Let the model answer and everything follow; returns the new actions."""
        before = len(self.actions)
        self._take(rules.answered(self.run, given, shown=shown))
        while isinstance(self.last, Execute | Review):
            if isinstance(self.last, Execute):
                given_results = {
                    c.position: self.results.get(c.name, ok()) for c in self.last.calls
                }
                self._take(rules.ran(self.run, given_results))
            else:
                self._take(rules.reviewed(self.run, self.hooked))
        return self.actions[before:]

    def _take(self, decision: tuple[Run, tuple[Action, ...]]) -> None:
        self.run, actions = decision
        self.actions.extend(actions)

    @property
    def last(self) -> Action:
        return self.actions[-1]

    @property
    def end(self) -> Finish:
        assert isinstance(self.last, Finish), self.last
        return self.last

    def told(self) -> list[str]:
        """Results of the last step, in call order."""
        return [one.result for one in self.run.steps[-1].calls]

    def said(self) -> list[tuple[str, str]]:
        return [(a.kind, a.speech.text) for a in self.actions if isinstance(a, Say)]


def kinds(actions: list[Action]) -> list[str]:
    return [type(action).__name__ for action in actions]
