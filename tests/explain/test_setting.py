"""Wrong settings are told in plain words."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rasa_react_ext.explain.setting import nearest, refusal


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    size: int = Field(default=1, ge=1)


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="x", min_length=1, pattern="^x")
    on: bool = True
    share: float | None = None
    mode: Literal["on", "off"] = "on"
    one: Inner | None = None
    more: list[Inner] = []
    named: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("values", "key", "problem", "fix"),
    [
        ({"nme": "x"}, "nme", "this key is unknown.", "Did you mean 'name'?"),
        ({"zzz": 1}, "zzz", "this key is unknown.", "The keys are: mode, more, name"),
        ({"one": {"sze": 1}}, "one: sze", "this key is unknown.", "Did you mean 'size'?"),
        ({"more": [{"sze": 1}]}, "more: 0: sze", "this key is unknown.", "Did you mean 'size'?"),
        ({"named": {"a": {"sze": 1}}}, "named: a: sze", "unknown", "Did you mean 'size'?"),
        ({"one": {"size": 0}}, "one: size", "at least 1", "Write a whole number at least 1."),
        ({"one": {"size": "big"}}, "one: size", "a whole number", "such as 10"),
        ({"share": "much"}, "share", "this must be a number.", "such as 10"),
        ({"on": "perhaps"}, "on", "true or false", "without quotes"),
        ({"more": 3}, "more", "this must be a list.", "after a dash"),
        ({"named": []}, "named", "this must hold keys.", "keys with values"),
        ({"name": []}, "name", "this must be a text.", "Write a text"),
        ({"name": ""}, "name", "this is empty.", "Write a value"),
        ({"name": "y"}, "name", "the form ^x", "of that form"),
        ({"mode": "of"}, "mode", "one of on, off", "Did you mean 'off'?"),
        ({"mode": False}, "mode", "this must be the text 'off'.", "in quotes"),
    ],
)
def test_a_wrong_setting_is_told_in_plain_words_with_file_key_and_fix(
    values: dict[str, Any], key: str, problem: str, fix: str
) -> None:
    with pytest.raises(ValidationError) as wrong:
        Outer.model_validate(values)
    told = refusal(wrong.value, Outer, file="some.yml", place="here")
    assert (told.file, told.key) == ("some.yml", f"here: {key}")
    assert problem in told.problem
    assert fix in told.fix


def test_a_name_that_is_near_to_none_is_not_asked_about() -> None:
    assert nearest("pigeon", ["redis", "sql"]) == ""
