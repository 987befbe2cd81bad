"""Slots an agent may fill: their tool schema and the conversion of values.

A value that does not fit is refused with the reason; nothing is stored as a
stand-in. Source: the host's documented slot types (domain reference).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rasa_react_ext.engine.text import visible
from rasa_react_ext.errors import FeedbackError

__all__ = ["SlotSpec"]

_TRUE = {"true", "yes"}
_FALSE = {"false", "no"}
_INTERNAL_OTHER = "__other__"
_CHOICES = {"categorical", "strict_categorical"}
_TYPES = {"text", "bool", "float", "list", "any", *_CHOICES}


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSpec:
    """One slot that a task-specific agent fills.

    Attributes:
        name: Name of the slot.
        type: The host's type name, e.g. `text`, `float`, `categorical`.
        allowed_values: Values of a categorical slot, in the domain's order.
        check: The domain's validation of the slot: a reason, or None if it is fine.
    """

    name: str
    type: str
    allowed_values: Sequence[Any] = ()
    check: Callable[[Any], str | None] | None = None

    @property
    def known(self) -> bool:
        """Whether values of this type can be set by a tool."""
        return self.type in _TYPES

    @property
    def choices(self) -> list[Any]:
        """Allowed values without the host's internal extra value."""
        return [value for value in self.allowed_values if value != _INTERNAL_OTHER]

    def value_schema(self) -> dict[str, Any]:
        """JSON schema of the tool's `slot_value` argument."""
        schemas: dict[str, dict[str, Any]] = {
            "bool": {"type": "boolean"},
            "float": {"type": "number"},
            "list": {"type": "array", "items": {}},
            "any": {},
        }
        schema = dict(schemas.get(self.type, {"type": "string"}))
        if self.type in _CHOICES and self.choices:
            schema["enum"] = [str(choice) for choice in self.choices]
        return schema

    def convert(self, value: Any) -> Any:
        """Turn what a model sent into a value of the slot's type.

        Raises:
            FeedbackError: The value does not fit, or the domain rejects it.
        """
        if value is None or (isinstance(value, str) and not visible(value)):
            raise FeedbackError("an empty value cannot be stored; ask the user for it.")
        converters: Mapping[str, Callable[[Any], Any]] = {
            "text": _text,
            "bool": _boolean,
            "float": _number,
            "list": _sequence,
        }
        if self.type in _CHOICES and self.choices:
            converted = self._choice(value)
        else:
            converted = converters.get(self.type, lambda same: same)(value)
        reason = self.check(converted) if self.check else None
        if reason:
            raise FeedbackError(reason)
        return converted

    def _choice(self, value: Any) -> Any:
        written = str(value).strip()
        for same in (str, lambda choice: str(choice).casefold()):
            for choice in self.choices:
                if same(choice) == same(written):
                    return choice
        allowed = ", ".join(repr(choice) for choice in self.choices)
        raise FeedbackError(f"{value!r} is not one of the allowed values: {allowed}.")


def _text(value: Any) -> str:
    if isinstance(value, list | dict):
        raise FeedbackError("a plain text is needed.")
    return value if isinstance(value, str) else json.dumps(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise FeedbackError(f"{value!r} is neither true nor false.")


def _number(value: Any) -> float:
    try:
        number = float("nan") if isinstance(value, bool) else float(value)
    except (OverflowError, TypeError, ValueError):
        number = float("nan")
    if not math.isfinite(number):
        raise FeedbackError(f"{value!r} is not a number.")
    return number


def _sequence(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (RecursionError, ValueError):
            value = None
    if not isinstance(value, list):
        raise FeedbackError('a list of values is needed, e.g. ["first", "second"].')
    return value
