"""Forms that are filled in with words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from rasa_react_ext.host.mcp.form import Form, Speech
from rasa_react_ext.host.mcp.settings import ElicitationWords
from rasa_react_ext.host.settings import read_settings
from tests.host.refused import refused

Schema = Mapping[str, Any]


def form(
    message: str = "Well?", /, *, words: dict[str, Any] | None = None, **fields: Schema
) -> Form:
    """A form with these required fields."""
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return Form(
        message=message, schema=schema, speech=Speech(words=ElicitationWords(**words or {}))
    )


@pytest.mark.parametrize(
    ("field", "said", "value"),
    [
        ({"type": "string"}, "  to Bern, please ", "to Bern, please"),
        ({"type": "string", "format": "email"}, "anna@example.org", "anna@example.org"),
        ({"type": "string", "format": "date"}, "2026-11-30", "2026-11-30"),
        ({"type": "integer"}, "3.", 3),
        ({"type": "integer"}, "3.0", 3),
        ({"type": "number"}, "-2.5", -2.5),
        ({"type": "number"}, "-0.5", -0.5),
        ({"type": "number"}, "2,5", 2.5),
        ({"type": "number"}, "7", 7),
        ({"type": "boolean"}, "Yes, please!", True),
        ({"type": "boolean"}, "no", False),
        ({"type": "string", "enum": ["red", "no"]}, "No!", "no"),
        ({"type": "string", "enum": ["r"], "enumNames": ["Red"]}, "red", "r"),
        ({"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}, "RED.", "r"),
        ({"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}, "r", "r"),
        (
            {"type": "array", "items": {"type": "string", "enum": ["ham", "egg", "jam"]}},
            "egg, jam",
            ["egg", "jam"],
        ),
        (
            {"type": "array", "items": {"anyOf": [{"const": "h", "title": "Ham"}]}},
            "ham",
            ["h"],
        ),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "4", 4),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "4x", "4x"),
        ({"type": "string", "minLength": "odd"}, "a schema that is none", "a schema that is none"),
    ],
)
def test_d4_1_words_become_values_by_the_type_of_the_field(
    field: Schema, said: str, value: Any
) -> None:
    asked = form(f=field)
    assert asked.hear(said) == "accept"
    assert asked.content == {"f": value}
    assert type(asked.content["f"]) is type(value)


@pytest.mark.parametrize(
    ("field", "said", "complaint"),
    [
        ({"type": "integer"}, "2.5", "a whole number"),
        ({"type": "integer"}, "two", "a whole number"),
        ({"type": "number"}, "1,000", "a number"),
        ({"type": "integer", "minimum": 1}, "0", "It must be 1 or more."),
        ({"type": "number", "exclusiveMinimum": 0}, "0", "It must be more than 0."),
        ({"type": "number", "exclusiveMaximum": 1}, "1", "It must be less than 1."),
        ({"type": "string", "minLength": 3}, "ab", "It needs 3 characters or more."),
        ({"type": "string", "maxLength": 1}, "ab", "It may have 1 characters at most."),
        ({"type": "string", "format": "email"}, "anna", "It must have the form of: email."),
        ({"type": "string", "pattern": "^x"}, "anna", "the form that is wanted"),
        ({"type": "string"}, "  ", "Please answer in words."),
        ({"type": "boolean"}, "maybe", "Please answer yes or no."),
        ({"type": "string", "enum": ["a", "b"]}, "c", "Please choose one: a, b."),
        ({"type": "array", "items": {"enum": ["a"]}}, "b", "with commas between: a."),
        ({"type": "array", "items": {"enum": ["a"]}}, ",", "with commas between: a."),
        ({"type": "array", "items": {"enum": ["a"]}, "maxItems": 1}, "a,a", "name 1 at most"),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 2}, "a", "name 2 or more"),
    ],
)
def test_d4_1_words_that_do_not_fit_are_asked_about_again_with_the_reason(
    field: Schema, said: str, complaint: str
) -> None:
    asked = form(f=field)
    assert asked.hear(said) == "open"
    assert asked.question.startswith("Sorry, that does not fit. ")
    assert complaint in asked.question
    assert asked.question.endswith('Or say "cancel" to give no answer.')


def test_d4_1_a_form_that_nobody_can_fill_in_is_given_up() -> None:
    asked = form(f={"type": "integer"})
    assert [asked.hear("what?") for _ in range(3)] == ["open", "open", "cancel"]


@pytest.mark.parametrize(
    "field", [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"enum": ["a"]}]
)
@pytest.mark.parametrize("said", ["Cancel.", "never mind", "I'd rather not"])
def test_d4_1_words_that_refuse_decline(field: Schema, said: str) -> None:
    assert form(f=field).hear(said) == "decline"


def test_d4_1_a_no_declines_unless_it_is_an_answer() -> None:
    assert form(f={"type": "string"}).hear("No!") == "decline"
    assert form(f={"type": "boolean"}).hear("No!") == "accept"


def test_d4_1_optional_fields_come_last_and_can_be_skipped() -> None:
    fields = {"remark": {"type": "string"}, "day": {"type": "string", "title": "Which day?"}}
    schema = {"type": "object", "properties": fields, "required": ["day"]}
    asked = Form(message="", schema=schema, speech=Speech(words=ElicitationWords()))
    assert asked.question == "Which day?"
    assert asked.hear("Monday") == "open"
    assert asked.question == 'remark? (You can say "skip".)'
    assert asked.hear("skip") == "accept"
    assert asked.content == {"day": "Monday"}


def test_d4_1_after_a_misfit_among_several_fields_the_field_is_named_again() -> None:
    asked = form("Two things.", guests={"type": "integer"}, day={"type": "string"})
    asked.hear("many")
    assert "a whole number, such as 3. guests? Or say" in asked.question


def test_d4_1_a_form_without_fields_is_a_plain_yes_or_no() -> None:
    asked = form("Shall we?")
    assert asked.question == "Shall we?\nPlease answer yes or no."
    assert asked.hear("perhaps") == "open"
    assert asked.hear("yes") == "accept"
    assert form("Shall we?").hear("no") == "decline"


def test_d4_1_what_can_be_chosen_is_named_unless_the_server_did() -> None:
    seats = {"type": "string", "enum": ["aisle", "window"]}
    assert form("Aisle or window?", seat=seats).question == "Aisle or window?"
    assert form("Which?", seat=seats).question == "Which?\nPlease choose one: aisle, window."


def test_d4_1_of_many_options_the_first_are_named() -> None:
    asked = form("Which?", f={"type": "string", "enum": [f"n{number}" for number in range(99)]})
    assert asked.question.endswith("n28, n29, ….")
    assert asked.hear("n98") == "accept"


def test_d4_1_a_server_that_says_nothing_is_given_words() -> None:
    assert form("", seat={"type": "string"}).question == "seat?"
    assert Form(
        message="", schema={"properties": 3}, speech=Speech(words=ElicitationWords())
    ).question


def test_d4_1_the_words_are_the_projects() -> None:
    german = {"again": "Das geht nicht.", "integer": "Eine Zahl, bitte.", "refuse": ["lass es"]}
    asked = form(
        "Wie viele?",
        words={**german, "way_out": "", "skip_words": ["weiter"]},
        n={"type": "integer"},
    )
    assert asked.hear("viele") == "open"
    assert asked.question == "Das geht nicht. Eine Zahl, bitte."
    assert asked.hear("Lass es!") == "decline"


@pytest.mark.parametrize(
    ("entry", "key", "says"),
    [
        ({"elicitation": "always"}, "elicitation", "one of ask, decline"),
        ({"elicitation_wait_seconds": 0}, "elicitation_wait_seconds", "above 0"),
        ({"elicitation_words": {"agan": "?"}}, "elicitation_words: agan", "mean 'again'"),
        ({"elicitation_words": {"refuse": []}}, "elicitation_words: refuse", "too few entries"),
        ({"sampling_max_tokens": 0}, "sampling_max_tokens", "above 0"),
    ],
)
def test_d4_1_a_wrong_setting_is_refused(entry: dict[str, Any], key: str, says: str) -> None:
    with refused(file="config.yml", key=key, says=says):
        read_settings(entry, None)
