"""Tool-call arguments: from the raw text of a model to values that fit the schema.

Nothing is guessed: a repair is made only where the meaning cannot change, a
conversion only where the schema names the type.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from rasa_react_ext.engine.text import sound
from rasa_react_ext.errors import FeedbackError

__all__ = ["fit", "parse"]

# Strings are taken whole, so that a comma inside one is never touched.
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")(?:\s*,(?=\s*[}\]]))?|([\w}\]])\s*,(?=\s*[}\]])')
_REFERENCE = re.compile(r'"\$(?:dynamicRef|ref)": "([^"]*)"')
_MESSAGE_SHOWN = 300
_NUMBER_SHOWN = 20
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
}


def parse(raw: str | None) -> dict[str, Any]:
    """Read the argument text of one call.

    Absent, blank and `null` arguments are an empty object. A text that holds JSON
    encoded twice is decoded twice. Trailing commas are forgiven.

    Raises:
        FeedbackError: The text is not a JSON object; the message says why.
    """
    if raw is None or not raw.strip():
        return {}
    value = _loads(raw)
    if isinstance(value, str):
        value = _loads(value) if value.strip() else {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FeedbackError(
            f"The arguments must be a JSON object, but a JSON {_kind(value)} was sent. "
            "Nothing was executed; send the call again with an object."
        )
    text = json.dumps(value, ensure_ascii=False)
    return value if sound(text) == text else json.loads(sound(text))


def _loads(text: str) -> Any:
    try:
        try:
            return _strictly(text)
        except ValueError:
            return _strictly(_TRAILING_COMMA.sub(lambda found: found[1] or found[2], text))
    except (ValueError, RecursionError) as error:
        raise FeedbackError(
            f"The arguments are not valid JSON ({error}). Nothing was executed; "
            "send the call again with complete, valid JSON."
        ) from error


def _strictly(text: str) -> Any:
    """Parse JSON without numbers that only Python knows, such as NaN."""
    return json.loads(text, parse_constant=_number, parse_float=_number)


def _number(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written[:_NUMBER_SHOWN]} is no JSON number")
    return number


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "string"


def fit(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arguments by their schema and check them.

    Strings that hold JSON of the declared type become that type, also inside
    unions with null and behind local references; null for an optional property that
    does not allow it is left out. A schema that is itself invalid checks nothing: its
    server will judge.

    Raises:
        FeedbackError: The arguments do not fit; the message names the place.
    """
    fitted = _Fitter(schema).object(dict(arguments), schema)
    problem = _problem(fitted, schema)
    if problem:
        raise FeedbackError(f"Nothing was executed: {problem}. Correct this and call again.")
    return fitted


def _problem(value: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """The first thing that does not fit, with its place."""
    try:
        validator = _validator(json.dumps(schema, sort_keys=True))
        for error in validator.iter_errors(value) if validator else ():
            place = ".".join(str(part) for part in error.absolute_path) or "the arguments"
            return f"{place}: {error.message[:_MESSAGE_SHOWN]}"
    except Exception:  # noqa: BLE001 - a peer wrote the schema, and it may break in any way
        return None
    return None


@lru_cache(maxsize=512)
def _validator(schema: str) -> Validator | None:
    """A checker; None for a schema that points outside itself, which is never fetched."""
    loaded = json.loads(schema)
    if any(not target.startswith("#") for target in _REFERENCE.findall(schema)):
        return None
    kind = validator_for(loaded, default=Draft202012Validator)
    kind.check_schema(loaded)
    return kind(loaded)


class _Fitter:
    """Converts values by a schema, which local references point into."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def object(self, value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """The object with each property converted."""
        properties: Any = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required: Any = schema.get("required")
        required = required if isinstance(required, list) else ()
        others = schema.get("additionalProperties")
        fitted: dict[str, Any] = {}
        for key, item in value.items():
            declared = properties.get(key, others)
            if not isinstance(declared, Mapping):
                fitted[key] = item
            elif item is not None or key in required or self._allows(declared, "null"):
                fitted[key] = self._value(item, declared)
            elif key not in properties:
                fitted[key] = item
        return fitted

    def _value(self, value: Any, schema: Mapping[str, Any]) -> Any:
        if isinstance(value, str) and not self._allows(schema, "string"):
            value = self._decoded(value, schema)
        if isinstance(value, dict):
            return self.object(value, self._branch(schema, "object"))
        if isinstance(value, list):
            items = self._branch(schema, "array").get("items")
            if isinstance(items, Mapping):
                return [self._value(item, items) for item in value]
        return value

    def _decoded(self, text: str, schema: Mapping[str, Any]) -> Any:
        """The value a string holds, if it has a declared type."""
        try:
            value = _strictly(text)
        except (ValueError, RecursionError):
            return text
        if value is None:
            return None if self._allows(schema, "null") else text
        for name, types in _PYTHON_TYPES.items():
            fits = isinstance(value, types) and isinstance(value, bool) == (name == "boolean")
            if fits and self._allows(schema, name):
                return value
        return text

    def _branch(self, schema: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
        """The one alternative of this kind; nothing is converted where there are several."""
        found = [branch for branch in self._branches(schema) if kind in _types(branch)]
        return found[0] if len(found) == 1 else {}

    def _allows(self, schema: Mapping[str, Any], kind: str) -> bool:
        """Whether `kind` is declared; a schema without any type allows everything."""
        branches = self._branches(schema)
        declared = [name for branch in branches for name in _types(branch)]
        if not declared:
            return True
        return kind in declared or (kind == "integer" and "number" in declared)

    def _branches(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The schema and its alternatives, references followed."""
        found: list[Mapping[str, Any]] = []
        waiting: list[Any] = [schema]
        while waiting:
            branch = waiting.pop(0)
            if isinstance(branch, Mapping) and not any(branch is seen for seen in found):
                found.append(branch)
                waiting.append(self._target(branch.get("$ref")))
                for keyword in ("anyOf", "oneOf"):
                    options = branch.get(keyword)
                    waiting.extend(options if isinstance(options, list) else ())
        return found

    def _target(self, reference: Any) -> Any:
        """What a local reference points to; None for any other."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        place: Any = self._root
        for part in reference.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            place = place.get(name) if isinstance(place, Mapping) else None
        return place


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    declared = schema.get("type")
    if isinstance(declared, str):
        return (declared,)
    return tuple(declared) if isinstance(declared, list) else ()
