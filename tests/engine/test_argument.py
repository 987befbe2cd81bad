from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rasa_react_ext.engine.argument import fit, parse
from rasa_react_ext.errors import FeedbackError

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
SCHEMA = {
    "type": "object",
    "properties": {
        "ids": {"type": "array", "items": {"type": "string"}},
        "limit": {"type": "integer"},
        "note": {"type": "string"},
        "flag": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "filter": {"type": "object", "properties": {"max": {"type": "number"}}},
        "anything": {},
    },
}


@pytest.mark.parametrize("raw", [None, "", " ", "\n", "null", '""', "{}"])
def test_b13_absent_empty_and_null_arguments_are_an_empty_object(raw: str | None) -> None:
    assert parse(raw) == {}


def test_b13_a_required_parameter_is_still_asked_for() -> None:
    schema = {"type": "object", "properties": {"day": {}}, "required": ["day"]}
    with pytest.raises(FeedbackError, match="'day' is a required property"):
        fit(parse(""), schema)


@pytest.mark.parametrize(
    "raw",
    [
        "{}x",
        "{'a':1}",
        '{"a": "unterminated',
        '{"a":1}{"b":2}',
        "{,}",
        '{"a":[,]}',
        '{"a":1,,}',
        '{"a":NaN}',
        '{"a":-Infinity,}',
        '{"a":1e999}',
        "{",
        "[" * 100_000,
        f'{{"a":{"9" * 5000}}}',
    ],
)
def test_b14_malformed_arguments_are_refused_with_a_reason(raw: str) -> None:
    with pytest.raises(FeedbackError, match=r"not valid JSON \(.+\).*Nothing was executed"):
        parse(raw)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [("[1]", "array"), ("true", "boolean"), ("5", "number"), ('"\\"a\\""', "string")],
)
def test_b14_arguments_that_are_no_object_are_refused_with_their_kind(raw: str, kind: str) -> None:
    with pytest.raises(FeedbackError, match=f"a JSON {kind} was sent"):
        parse(raw)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ('{"a":1,}', {"a": 1}),
        ('{"a":[1, 2 , ] , }', {"a": [1, 2]}),
        ('{"a":"x,}",}', {"a": "x,}"}),
        ('{"a":"x\\",]",}', {"a": 'x",]'}),
        ('{"a":{"b":true,},}', {"a": {"b": True}}),
    ],
)
def test_b14_only_a_trailing_comma_is_repaired(raw: str, value: dict[str, Any]) -> None:
    assert parse(raw) == value


def test_b19_an_object_encoded_twice_is_decoded() -> None:
    assert parse(json.dumps(json.dumps({"a": "1"}))) == {"a": "1"}


def test_arguments_that_no_encoding_can_carry_are_made_sound() -> None:
    value = parse('{"a\\ud800": ["\\ud83d\\ude42", "x\\udc00"]}')
    assert value == {"a\ufffd": ["🙂", "x\ufffd"]}
    json.dumps(value, ensure_ascii=False).encode()


def test_b19_strings_become_the_declared_type_and_strings_stay_strings() -> None:
    arguments = {"ids": '["1"]', "limit": "5", "note": "[1]", "flag": "true", "anything": "[1]"}
    assert fit(arguments, SCHEMA) == {
        "ids": ["1"],
        "limit": 5,
        "note": "[1]",
        "flag": True,
        "anything": "[1]",
    }


@pytest.mark.parametrize(
    ("name", "value", "fitted"),
    [
        ("flag", "null", None),
        ("flag", None, None),
        ("filter", '{"max": "2.5"}', {"max": 2.5}),
        ("filter", {"max": "3"}, {"max": 3}),
    ],
)
def test_b19_unions_and_nested_values_are_converted(name: str, value: Any, fitted: Any) -> None:
    assert fit({name: value}, SCHEMA) == {name: fitted}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", "true"),
        ("limit", "5.5"),
        ("limit", "many"),
        ("limit", "1e999"),
        ("limit", "null"),
        ("limit", "[" * 100_000),
        ("ids", "{}"),
        ("flag", "1"),
        ("note", 5),
    ],
)
def test_b19_a_value_that_does_not_fit_is_refused_with_its_place(name: str, value: Any) -> None:
    with pytest.raises(FeedbackError, match=rf"Nothing was executed: {name}: ") as refused:
        fit({name: value}, SCHEMA)
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize("value", ["true", "1.5", "[1]", "{}", '"5"'])
def test_b19_a_string_that_holds_another_type_is_judged_as_it_was_sent(value: str) -> None:
    with pytest.raises(FeedbackError) as refused:
        fit({"limit": value}, SCHEMA)
    assert f"limit: {value!r} is not of type 'integer'" in str(refused.value)


def test_b19_what_a_local_reference_points_to_is_checked() -> None:
    schema = {
        "type": "object",
        "properties": {"box": {"$ref": "#/$defs/box"}},
        "$defs": {"box": {"type": "integer"}},
    }
    with pytest.raises(FeedbackError, match="box: 'x' is not of type 'integer'"):
        fit({"box": "x"}, schema)


def test_b19_what_local_references_point_to_is_converted_too() -> None:
    schema = {
        "type": "object",
        "properties": {
            "box": {"$ref": "#/$defs/a~1b"},
            "tree": {"$ref": "#/$defs/tree"},
            "lost": {"$ref": "#/$defs/none/further"},
            "odd": {"$ref": 5},
        },
        "$defs": {
            "a/b": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "tree": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}, {"type": "array"}]},
        },
    }
    arguments = {"box": '{"n": "1"}', "tree": "[1]", "lost": "5", "odd": "5"}
    assert fit(arguments, schema) == {"box": {"n": 1}, "tree": [1], "lost": "5", "odd": "5"}


def test_b19_free_keys_follow_the_schema_of_additional_properties() -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}}
    assert fit({"a": "1"}, schema) == {"a": 1}
    with pytest.raises(FeedbackError, match="a: None is not of type 'integer'"):
        fit({"a": None}, schema)


def test_b19_nothing_is_converted_where_two_alternatives_are_objects() -> None:
    one = {"type": "object", "properties": {"a": {"type": "integer"}}}
    other = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = {"type": "object", "properties": {"x": {"anyOf": [one, other]}}}
    assert fit({"x": {"a": "5"}}, schema) == {"x": {"a": "5"}}


def test_null_for_an_optional_property_is_left_out_unless_it_may_be_null() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}},
    }
    assert fit({"a": None, "b": None}, schema) == {"b": None}
    with pytest.raises(FeedbackError, match="a: None is not of type"):
        fit({"a": None}, {**schema, "required": ["a"]})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nonsense"},
        {"type": "object", "properties": {"a": {"pattern": "("}}},
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        {"$ref": "#"},
        {"type": "object", "properties": [], "required": True},
        {"type": "object", "properties": {"a": 5}},
        {"type": "object", "default": {1, 2}},
    ],
)
def test_a_schema_that_cannot_be_used_checks_nothing(schema: dict[str, Any]) -> None:
    assert fit({"a": "x"}, schema) == {"a": "x"}


def test_a_schema_elsewhere_is_never_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: Any, **_named: Any) -> None:
        raise AssertionError("A schema was fetched.")

    monkeypatch.setattr(socket, "create_connection", refuse)
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/a.json"}}}
    assert fit({"a": "x"}, schema) == {"a": "x"}


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_was_read_reads_the_same_again(arguments: dict[str, Any]) -> None:
    once = parse(json.dumps(arguments))
    assert parse(json.dumps(once)) == once
    assert parse(json.dumps(once, ensure_ascii=False)) == once


@given(st.text())
def test_any_text_is_an_object_or_is_refused(raw: str) -> None:
    try:
        value = parse(raw)
    except FeedbackError:
        return
    assert isinstance(value, dict)


@given(
    st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])), VALUES | st.text(), max_size=4)
)
def test_what_was_fitted_fits_again(arguments: dict[str, Any]) -> None:
    try:
        once = fit(arguments, SCHEMA)
    except FeedbackError:
        return
    assert fit(once, SCHEMA) == once
