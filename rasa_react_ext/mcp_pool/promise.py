"""What tools promise about their results: output schemas, compiled once a list.

References to other documents are never followed: a schema makes us open no connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from mcp import types

from rasa_react_ext.engine.tool import Tool
from rasa_react_ext.mcp_pool.schema import resolve

__all__ = ["Promises"]


class Promises:
    """The output schemas of one tool list."""

    def __init__(self, tools: Sequence[types.Tool]) -> None:
        self._schemas = {tool.name: tool.outputSchema for tool in tools if tool.outputSchema}
        self._validators: dict[str, Validator | None] = {}

    def fault(self, tool: Tool, value: Any) -> str | None:
        """What is wrong with a result, or None; a tool without a schema promises nothing."""
        if tool.origin_name not in self._schemas:
            return None
        if value is None:
            return "there is no structured content"
        validator = self._validator(tool.origin_name)
        if validator is None:
            return None
        fault = next(iter(validator.iter_errors(value)), None)
        return None if fault is None else f"{fault.json_path}: {fault.validator} is not met"

    def _validator(self, name: str) -> Validator | None:
        if name not in self._validators:
            self._validators[name] = _compiled(self._schemas[name])
        return self._validators[name]


def _compiled(schema: dict[str, Any]) -> Validator | None:
    """A validator, or None for a schema that is none and so promises nothing."""
    kind = validator_for(schema)
    try:
        kind.check_schema(schema)
    except SchemaError:
        return None
    local = all(resolve(reference, schema) is not None for reference in _references(schema))
    return kind(schema) if local else None


def _references(node: object) -> Iterator[str]:
    """Every reference anywhere in a schema."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in {"$ref", "$dynamicRef"} and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(node, list):
        for item in node:
            yield from _references(item)
