"""Exit conditions, evaluated as the host evaluates them, compiled once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import structlog
from jinja2 import Template
from pypred import Predicate

__all__ = ["ExitConditions", "slot_names"]

_SLOT = re.compile(r"\bslots\.(\w+)")
_log = structlog.get_logger()


class ExitConditions:
    """The `exit_if` of a step. All conditions must hold.

    A condition that cannot be evaluated does not hold (design D3.3); it is logged
    once, with its text, and never ends the flow.
    """

    def __init__(self, conditions: Sequence[str], agent: str) -> None:
        self._conditions = tuple(conditions)
        self._agent = agent

    def __call__(self, slots: Mapping[str, Any]) -> bool:
        """Whether every condition holds for these slot values."""
        if not slots:
            return False
        context = {"slots": dict(slots)}
        return all(self._holds(condition, context) for condition in self._conditions)

    def _holds(self, condition: str, context: Mapping[str, Any]) -> bool:
        try:
            text = _template(condition).render(context) if "{" in condition else condition
            return bool(_predicate(text).evaluate(context))
        except Exception as error:  # noqa: BLE001 - predicates raise whatever values make them
            _report(condition, self._agent, f"{type(error).__name__}: {error}")
            return False


def slot_names(conditions: Sequence[str]) -> list[str]:
    """Slots that the conditions mention, in the order of their first mention."""
    names = (name for condition in conditions for name in _SLOT.findall(condition))
    return list(dict.fromkeys(names))


@lru_cache(maxsize=512)
def _template(condition: str) -> Template:
    return Template(condition)


@lru_cache(maxsize=2048)
def _predicate(text: str) -> Any:
    return Predicate(text)


@lru_cache(maxsize=512)
def _report(condition: str, agent: str, problem: str) -> None:
    _log.warning(
        "rasa_react_ext.exit_if.not_evaluated",
        agent_name=agent,
        condition=condition,
        error=problem,
        event_info=(
            f"The exit condition {condition!r} of agent {agent!r} could not be evaluated and "
            "counts as not met. Compare a slot only with values of its own type, and test for "
            "null first."
        ),
    )
