"""JSON schemas of tool arguments, kept as the server wrote them.

Pure functions; the schema given is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["fits_strict", "object_schema", "resolve", "without_nulls"]

_STRICT_TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}
_STRICT_KEYWORDS = {
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "definitions",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "title",
    "type",
}
_MAX_DEPTH = 10


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the two fields every provider demands, the rest untouched."""
    properties = schema.get("properties") or {}
    return {**schema, "type": "object", "properties": properties}


def fits_strict(schema: Mapping[str, Any]) -> bool:
    """Whether a provider's strict mode takes the schema as it is.

    Strict mode wants every object closed with all its properties required, and knows
    few keywords. A schema that says more is sent as it is, without strict mode:
    closing a free-form object or forcing an optional argument would change the tool.
    """
    return all(_node_fits(node) for node in _nodes(schema))


def _node_fits(node: Mapping[str, Any]) -> bool:
    if not node.keys() <= _STRICT_KEYWORDS:
        return False
    if "$ref" in node and not str(node["$ref"]).startswith("#"):
        return False
    kinds = node.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not any(key in node for key in ("type", "$ref", "anyOf", "enum", "const")):
        return False
    if not {kind for kind in kinds if kind is not None} <= _STRICT_TYPES:
        return False
    if "object" in kinds:
        properties = node.get("properties") or {}
        closed = node.get("additionalProperties") is False
        return closed and set(node.get("required") or ()) == set(properties)
    return "array" not in kinds or isinstance(node.get("items"), dict)


def _nodes(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The schema and every schema inside it."""
    found: list[Mapping[str, Any]] = [schema]
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        if isinstance(inner, Mapping):
            for value in inner.values():
                found += _nodes(value) if isinstance(value, Mapping) else [{}]
    if isinstance(schema.get("items"), Mapping):
        found += _nodes(schema["items"])
    for value in schema.get("anyOf") or ():
        found += _nodes(value) if isinstance(value, Mapping) else [{}]
    return found


def without_nulls(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without optional ones a model filled with null.

    A null stays where the tool requires the argument or says that null has a meaning.
    """
    required = schema.get("required") or ()
    properties = schema.get("properties") or {}
    return {
        name: value
        for name, value in arguments.items()
        if value is not None or name in required or _allows_null(properties.get(name), schema)
    }


def _allows_null(node: object, root: Mapping[str, Any], depth: int = 0) -> bool:
    if not isinstance(node, Mapping) or depth > _MAX_DEPTH:
        return False
    kinds = node.get("type")
    if kinds == "null" or (isinstance(kinds, list) and "null" in kinds):
        return True
    if "enum" in node and None in node["enum"]:
        return True
    inner = [*(node.get("anyOf") or ()), *(node.get("oneOf") or ())]
    if "$ref" in node:
        inner.append(resolve(str(node["$ref"]), root))
    return any(_allows_null(one, root, depth + 1) for one in inner)


def resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The schema a local reference points to (RFC 6901), or None."""
    if not reference.startswith("#"):
        return None
    found: Any = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if not step:
            continue
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found if isinstance(found, Mapping) else None
