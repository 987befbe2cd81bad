"""Tool schemas in the dialects of providers that do not speak JSON schema.

Pure functions; the schema given is never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rasa_react_ext.mcp_pool.schema import resolve

__all__ = ["provider_schema"]

_GEMINI_KEYWORDS = {
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "nullable",
    "properties",
    "required",
    "title",
    "type",
}
_GEMINI_FORMATS = {"enum", "date-time", "float", "double", "int32", "int64"}
_MAX_REFERENCES = 5


def provider_schema(schema: Mapping[str, Any], dialect: str) -> dict[str, Any]:
    """The schema in the dialect of a provider that does not speak JSON schema.

    Args:
        schema: An object schema.
        dialect: `json_schema` (returned as it is) or `gemini`, a subset of OpenAPI 3.0:
            no references, no unions with null, no constants. What the subset cannot
            say is left out; a type that contains itself ends as a free-form object.

    Raises:
        ValueError: The dialect is not known.
    """
    if dialect == "json_schema":
        return dict(schema)
    if dialect == "gemini":
        return _gemini(schema, schema, ())
    raise ValueError(f"Unknown dialect {dialect!r}; know 'json_schema' and 'gemini'.")


def _gemini(
    node: Mapping[str, Any], root: Mapping[str, Any], trail: tuple[str, ...]
) -> dict[str, Any]:
    if "$ref" in node:
        reference = str(node["$ref"])
        target = resolve(reference, root)
        if reference in trail or len(trail) >= _MAX_REFERENCES or target is None:
            told = {"description": node["description"]} if "description" in node else {}
            return {"type": "object", **told}
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _gemini({**target, **rest}, root, (*trail, reference))

    def inner(one: Mapping[str, Any]) -> dict[str, Any]:
        return _gemini(one, root, trail)

    plain = _without_unions(_without_lists(_without_constants(node)), inner)
    kept = {key: value for key, value in plain.items() if key in {*_GEMINI_KEYWORDS, "anyOf"}}
    if kept.get("format") not in _GEMINI_FORMATS:
        kept.pop("format", None)
    if isinstance(kept.get("properties"), Mapping):
        kept["properties"] = {name: inner(one) for name, one in kept["properties"].items()}
    if isinstance(kept.get("items"), Mapping):
        kept["items"] = inner(kept["items"])
    return kept


def _without_constants(node: Mapping[str, Any]) -> dict[str, Any]:
    """A constant as a choice of one; choices are texts in this dialect."""
    plain = dict(node)
    if "const" in plain:
        plain["enum"] = [plain.pop("const")]
    if "enum" in plain:
        if None in plain["enum"]:
            plain["nullable"] = True
        plain["enum"] = [str(value) for value in plain["enum"] if value is not None]
        plain["type"] = "string"
    return plain


def _without_lists(node: dict[str, Any]) -> dict[str, Any]:
    """A list of types as one type, nullable where null was among them."""
    kinds = node.get("type")
    if not isinstance(kinds, list):
        return node
    rest = {key: value for key, value in node.items() if key != "type"}
    return {**rest, "anyOf": [{"type": kind} for kind in kinds]}


def _without_unions(
    node: dict[str, Any], inner: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """A union without null; one that has a single member left is that member."""
    union = node.get("anyOf") or node.get("oneOf")
    if not union:
        if len(node.get("allOf") or ()) == 1:
            rest = {key: value for key, value in node.items() if key != "allOf"}
            return {**inner(node["allOf"][0]), **rest}
        return node
    rest = {key: value for key, value in node.items() if key not in {"anyOf", "oneOf"}}
    members = [one for one in union if one.get("type") != "null"]
    if len(members) < len(union):
        rest["nullable"] = True
    if len(members) == 1:
        return {**inner(members[0]), **rest}
    return {**rest, "anyOf": [inner(one) for one in members]}
