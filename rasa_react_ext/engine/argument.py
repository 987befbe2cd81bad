"""Tool-call arguments: from the raw text of a model to values that fit the schema.

Nothing is guessed: a repair is made only where the meaning cannot change, a
conversion only where the schema names the type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import jsonschema
from jsonschema.protocols import Validator

from rasa_react_ext.errors import FeedbackError

__all__ = ["fit", "parse"]

_TRAILING_COMMA = re.compile(r",\s*([}\]])")
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
    return value


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        repaired = _without_trailing_commas(text)
        if repaired is not None:
            return repaired
        raise FeedbackError(
            f"The arguments are not valid JSON ({error}). Nothing was executed; "
            "send the call again with complete, valid JSON."
        ) from error


def _without_trailing_commas(text: str) -> Any:
    outside = re.split(r'("(?:[^"\\]|\\.)*")', text)
    outside[::2] = [_TRAILING_COMMA.sub(r"\1", part) for part in outside[::2]]
    try:
        return json.loads("".join(outside))
    except ValueError:
        return None


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {list: "array", int: "number", float: "number"}.get(type(value), "value")


def fit(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arguments by their schema and check them.

    Strings that hold JSON of the declared type become that type, also inside
    unions with null; null for an optional property that does not allow it is left
    out. A schema that is itself invalid checks nothing: its server will judge.

    Raises:
        FeedbackError: The arguments do not fit; the message names the place.
    """
    fitted = _fit_object(dict(arguments), schema)
    validator = _validator(json.dumps(schema, sort_keys=True))
    if validator is None:
        return fitted
    for error in validator.iter_errors(fitted):  # pyright: ignore[reportUnknownMemberType]
        place = ".".join(str(part) for part in error.absolute_path) or "the arguments"
        raise FeedbackError(
            f"Nothing was executed: {place}: {error.message}. Correct this and call again."
        )
    return fitted


@lru_cache(maxsize=512)
def _validator(schema: str) -> Validator | None:
    loaded = json.loads(schema)
    kind = jsonschema.validators.validator_for(loaded, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(loaded)
    except jsonschema.SchemaError:
        return None
    return kind(loaded)


def _fit_object(value: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return value
    required = schema.get("required") or ()
    fitted: dict[str, Any] = {}
    for key, item in value.items():
        declared = properties.get(key)
        if not isinstance(declared, Mapping):
            fitted[key] = item
        elif item is None and key not in required and not _allows(declared, "null"):
            continue
        else:
            fitted[key] = _fit(item, declared)
    return fitted


def _fit(value: Any, schema: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and not _allows(schema, "string"):
        value = _decoded(value, schema)
    if isinstance(value, dict):
        return _fit_object(value, _branch(schema, "object"))
    if isinstance(value, list):
        items = _branch(schema, "array").get("items")
        return [_fit(item, items) for item in value] if isinstance(items, Mapping) else value
    return value


def _decoded(text: str, schema: Mapping[str, Any]) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if value is None:
        return None if _allows(schema, "null") else text
    for name, types in _PYTHON_TYPES.items():
        if _allows(schema, name) and isinstance(value, types):
            if isinstance(value, bool) and name != "boolean":
                continue
            return value
    return text


def _branches(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = [schema]
    for keyword in ("anyOf", "oneOf"):
        options = schema.get(keyword)
        if isinstance(options, list):
            found.extend(option for option in options if isinstance(option, Mapping))
    return found


def _branch(schema: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    for branch in _branches(schema):
        if kind in _types(branch):
            return branch
    return schema


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    declared = schema.get("type")
    if isinstance(declared, str):
        return (declared,)
    return tuple(declared) if isinstance(declared, list) else ()


def _allows(schema: Mapping[str, Any], kind: str) -> bool:
    """Whether `kind` is declared; a schema without any type allows everything."""
    declared = [name for branch in _branches(schema) for name in _types(branch)]
    if not declared:
        return True
    return kind in declared or (kind == "integer" and "number" in declared)
