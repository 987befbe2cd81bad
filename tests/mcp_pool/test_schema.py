"""Schemas of tool arguments: faithful, strict only where they fit, other dialects."""

from __future__ import annotations

import copy
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from rasa_react_ext.mcp_pool import provider_schema
from rasa_react_ext.mcp_pool.schema import fits_strict, object_schema, without_nulls

CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}


@pytest.mark.parametrize(
    "schema", [{"type": "object"}, {}, CLOSED, {"type": "object", "properties": None}]
)
def test_b46_a_tool_without_parameters_has_type_and_properties(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    sent = object_schema(schema)
    assert sent["type"] == "object"
    assert sent["properties"] == {}
    assert schema == before
    assert sent.get("additionalProperties") == schema.get("additionalProperties")


def test_b47_a_schema_is_sent_as_the_server_wrote_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "when": {"type": "string", "format": "date", "default": "2026-01-01"},
            "item": {"$ref": "#/$defs/Item"},
            "mode": {"anyOf": [{"const": "a"}, {"type": "null"}]},
            "filter": {"type": "object"},
        },
        "$defs": {"Item": {"type": "object", "additionalProperties": {"type": "string"}}},
    }
    assert object_schema(schema) == schema


FLAT = {**CLOSED, "properties": {"a": {"type": "string"}}, "required": ["a"]}
NESTED = {
    **CLOSED,
    "properties": {"a": {"type": "array", "items": FLAT}, "b": {"$ref": "#/$defs/B"}},
    "required": ["a", "b"],
    "$defs": {"B": FLAT},
}


@pytest.mark.parametrize(
    "schema",
    [
        {**CLOSED, "properties": {}},
        FLAT,
        NESTED,
        {**CLOSED, "properties": {"a": {"type": ["string", "null"]}}, "required": ["a"]},
        {**CLOSED, "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]},
    ],
)
def test_b47_a_schema_that_fits_is_strict(schema: dict[str, Any]) -> None:
    assert fits_strict(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {**CLOSED, "properties": {"a": {"type": "string"}}},
        {**CLOSED, "properties": {"a": {}}, "required": ["a"]},
        {**CLOSED, "properties": {"a": True}, "required": ["a"]},
        {**CLOSED, "properties": {"a": {"type": "string", "format": "uri"}}, "required": ["a"]},
        {**CLOSED, "properties": {"a": {"type": "array"}}, "required": ["a"]},
        {**CLOSED, "properties": {"a": {"type": "odd"}}, "required": ["a"]},
        {**CLOSED, "properties": {"a": {"$ref": "http://x/y"}}, "required": ["a"]},
        {**NESTED, "$defs": {"B": {"type": "object"}}},
        {**CLOSED, "properties": {"a": {"anyOf": [FLAT, {"type": "object"}]}}, "required": ["a"]},
    ],
)
def test_b47_a_schema_that_does_not_fit_is_sent_without_strict(schema: dict[str, Any]) -> None:
    assert not fits_strict(schema)


@pytest.mark.parametrize(
    "free", [{"type": "object"}, {"type": "object", "additionalProperties": {"type": "string"}}]
)
def test_b49_a_free_form_object_is_never_strict(free: dict[str, Any]) -> None:
    schema = {**CLOSED, "properties": {"filter": free}, "required": ["filter"]}
    assert not fits_strict(schema)
    assert object_schema(schema)["properties"]["filter"] == free


def test_b49_free_keys_and_meaningful_nulls_are_kept_and_optional_nulls_are_not_sent() -> None:
    schema = {
        "properties": {
            "optional": {"type": "string"},
            "nullable": {"type": ["string", "null"]},
            "union": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "choice": {"enum": ["a", None]},
            "reference": {"$ref": "#/$defs/N"},
            "required": {"type": "string"},
            "filter": {"type": "object"},
        },
        "required": ["required"],
        "$defs": {"N": {"oneOf": [{"type": "null"}, {"type": "string"}]}},
    }
    names = [*schema["properties"], "unknown"]
    kept = without_nulls(dict.fromkeys(names), schema)
    assert list(kept) == ["nullable", "union", "choice", "reference", "required"]
    assert without_nulls({"filter": {"free": None}}, schema) == {"filter": {"free": None}}


class Leaf(BaseModel):
    kind: Literal["leaf"]
    note: str | None = None


class Node(BaseModel):
    """A type that contains itself."""

    leaf: Leaf
    children: list[Node] = []
    count: int | str = 0


def test_b50_a_pydantic_schema_becomes_one_that_gemini_takes() -> None:
    schema = Node.model_json_schema()
    before = copy.deepcopy(schema)
    sent = provider_schema(schema, "gemini")
    assert schema == before
    text = str(sent)
    for refused in ("$ref", "$defs", "const", "'null'", "default", "additionalProperties"):
        assert refused not in text, refused
    leaf = sent["properties"]["leaf"]["properties"]
    assert leaf["kind"]["enum"] == ["leaf"]
    assert leaf["note"]["type"] == "string"
    assert leaf["note"]["nullable"] is True
    assert sent["properties"]["count"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_b50_odd_corners_of_the_dialect() -> None:
    def one(node: dict[str, Any], **root: Any) -> Any:
        schema = {"type": "object", "properties": {"a": node}, **root}
        return provider_schema(schema, "gemini")["properties"]["a"]

    assert one({"type": ["integer", "null"]}) == {"type": "integer", "nullable": True}
    assert one({"type": "string", "format": "uri"}) == {"type": "string"}
    assert one({"type": "string", "format": "date-time"})["format"] == "date-time"
    assert one({"enum": [1, None]}) == {"enum": ["1"], "type": "string", "nullable": True}
    assert one({"$ref": "#/nowhere", "description": "d"}) == {"type": "object", "description": "d"}
    assert one({"$ref": "http://elsewhere/x"}) == {"type": "object"}
    assert one({"allOf": [{"type": "string"}], "title": "t"}) == {"type": "string", "title": "t"}
    pointed = {"$defs": {"x/y~z": {"type": "string"}}}
    assert one({"$ref": "#/$defs/x~1y~0z"}, **pointed) == {"type": "string"}
    assert provider_schema({"a": 1}, "json_schema") == {"a": 1}
    with pytest.raises(ValueError, match="Unknown dialect"):
        provider_schema({}, "yaml")
