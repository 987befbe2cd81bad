"""Walking through a JSON schema, for the rules of all profiles. Judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["Node", "walk"]

Node = tuple[str, Mapping[str, Any]]
"""Path inside the schema, and the schema that stands there."""

_MAPS = ("properties", "$defs", "definitions", "patternProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "not", "if", "then", "else")


def walk(schema: Any, path: str = "") -> Iterator[Node]:
    """The schema and every schema inside it, references left alone."""
    if not isinstance(schema, Mapping):
        return
    yield path or "(root)", schema
    for key in _MAPS:
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            for name, value in inner.items():
                yield from walk(value, f"{path}/{key}/{name}")
    for key in _LISTS:
        inner = schema.get(key)
        if isinstance(inner, list):
            for index, value in enumerate(inner):
                yield from walk(value, f"{path}/{key}/{index}")
    for key in _SINGLE:
        yield from walk(schema.get(key), f"{path}/{key}")
