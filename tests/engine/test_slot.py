from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.errors import FeedbackError


def spec(type: str, *allowed: Any, **more: Any) -> SlotSpec:
    return SlotSpec(name="slot", type=type, allowed_values=allowed, **more)


@pytest.mark.parametrize(
    ("type", "value", "converted"),
    [
        ("bool", "false", False),
        ("bool", " True ", True),
        ("bool", True, True),
        ("bool", "no", False),
        ("float", "12.5", 12.5),
        ("float", 3, 3.0),
        ("text", "Rome", "Rome"),
        ("text", 5, "5"),
        ("text", True, "true"),
        ("list", '["a"]', ["a"]),
        ("list", [], []),
        ("any", {"a": 1}, {"a": 1}),
        ("made_up", "x", "x"),
    ],
)
def test_b20_a_value_is_converted_by_the_slots_type(type: str, value: Any, converted: Any) -> None:
    result = spec(type).convert(value)
    assert result == converted
    assert isinstance(result, converted.__class__)


@pytest.mark.parametrize(
    ("type", "value", "reason"),
    [
        ("bool", "maybe", "neither true nor false"),
        ("bool", 1, "neither true nor false"),
        ("float", "a lot", "is not a number"),
        ("float", True, "is not a number"),
        ("float", "nan", "is not a number"),
        ("float", 10**400, "is not a number"),
        ("float", [], "is not a number"),
        ("text", {"a": 1}, "a plain text is needed"),
        ("text", ["a"], "a plain text is needed"),
        ("list", "a, b", "a list of values is needed"),
        ("list", '{"a": 1}', "a list of values is needed"),
        ("list", "[" * 100_000, "a list of values is needed"),
        ("list", 5, "a list of values is needed"),
    ],
)
def test_b20_a_value_that_does_not_fit_is_refused(type: str, value: Any, reason: str) -> None:
    with pytest.raises(FeedbackError, match=reason):
        spec(type).convert(value)


@pytest.mark.parametrize("type", ["text", "bool", "float", "list", "any", "categorical"])
@pytest.mark.parametrize("value", [None, "", "  \n", "\u200b"])
def test_b20_null_and_blank_never_fill_a_slot(type: str, value: Any) -> None:
    with pytest.raises(FeedbackError, match="empty value"):
        spec(type, "a").convert(value)


def test_b20_a_choice_is_found_in_any_letter_case_and_an_exact_one_first() -> None:
    sizes = spec("categorical", "US", "us", "Large", 3, True, "__other__")
    assert sizes.convert("us") == "us"
    assert sizes.convert(" LARGE ") == "Large"
    assert sizes.convert("3") == 3
    assert sizes.convert("true") is True


def test_b20_a_choice_outside_the_list_is_refused_with_the_list() -> None:
    with pytest.raises(FeedbackError, match=r"'turbo' is not one of .*: 'slow', 'fast'\.$"):
        spec("categorical", "slow", "fast", "__other__").convert("turbo")
    with pytest.raises(FeedbackError, match="__other__"):
        spec("strict_categorical", "slow").convert("__other__")


def test_a_choice_slot_without_choices_takes_any_value() -> None:
    assert spec("categorical", "__other__").convert("x") == "x"


def test_d3_4_the_domains_validation_refuses_with_its_reason() -> None:
    checked = spec("text", check=lambda value: None if value == "good" else f"{value} is no good.")
    assert checked.convert("good") == "good"
    with pytest.raises(FeedbackError, match="evil is no good"):
        checked.convert("evil")


@pytest.mark.parametrize(
    ("slot", "schema"),
    [
        (spec("bool"), {"type": "boolean"}),
        (spec("float"), {"type": "number"}),
        (spec("list"), {"type": "array", "items": {}}),
        (spec("any"), {}),
        (spec("text"), {"type": "string"}),
        (spec("categorical", "a", 2, "__other__"), {"type": "string", "enum": ["a", "2"]}),
        (spec("categorical"), {"type": "string"}),
    ],
)
def test_d3_4_the_tools_schema_follows_the_slot(slot: SlotSpec, schema: dict[str, Any]) -> None:
    assert slot.value_schema() == schema


def test_slots_of_unknown_type_are_told_apart() -> None:
    assert spec("text").known
    assert not spec("made_up").known
