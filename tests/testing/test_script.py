from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing.reply import Player
from rasa_react_ext.testing.script import Fault, ModelScript, Rule

OK = {"answer": "ok"}

MISTAKES: list[tuple[dict[str, Any], str, list[str]]] = [
    (
        {"name": "price", "when": {"usr": "x"}, **OK},
        "rules[2] 'price'.when",
        ["unknown key 'usr'.", "Did you mean 'user'?", "not_anywhere"],
    ),
    ({"wen": {}, **OK}, "rules[2]", ["unknown key 'wen'.", "Did you mean 'when'?"]),
    ({"when": {"times": 2}, **OK}, "rules[2].when", ["unknown key 'times'.", "Valid keys: "]),
    ({"answer": {"txt": "x"}}, "rules[2].answer", ["Did you mean 'text'?"]),
    (
        {"answers": ["a", {"calls": [{"name": "x", "args": {}}]}]},
        "rules[2].answers[2].calls[1] 'x'",
        ["Did you mean 'arguments'?"],
    ),
    ({"fault": {"statsu": 500}}, "rules[2].fault", ["Did you mean 'status'?"]),
    ({"fault": "explode"}, "rules[2].fault", ["unknown key 'explode'."]),
    ({}, "rules[2]", ["exactly one of answer, answers and fault; given: none."]),
    ({**OK, "fault": "hang"}, "rules[2]", ["given: answer, fault."]),
    ({"answers": []}, "rules[2].answers", ["at least 1 item"]),
    ({"fault": {"reset": True, "hang": 1}}, "rules[2].fault", ["given: reset, hang."]),
    ({"fault": {"delay_seconds": 1}}, "rules[2].fault", ["given: none."]),
    (
        {"fault": {"reset": True, "headers": {"a": "b"}}},
        "rules[2].fault",
        ["'headers' and 'body' belong to a fault with 'status'."],
    ),
    ({"fault": {"status": 42}}, "rules[2].fault.status", ["greater than or equal to 200"]),
    ({"when": {"user": "/(/"}, **OK}, "rules[2].when.user", ["'/(/' is not a valid regex"]),
    ({"when": {"user": ""}, **OK}, "rules[2].when.user", ["must not be empty"]),
    ({"when": {"user": True}, **OK}, "rules[2].when.user", ["Put it in quotes", "as True"]),
    ({"answer": {"text": 5.5}}, "rules[2].answer.text", ["Put it in quotes", "as 5.5"]),
    ({"when": {"step": 0}, **OK}, "rules[2].when.step", ["greater than 0"]),
    ({"answer": {"raw": {}, "text": "x"}}, "rules[2].answer", ["'raw' is the whole body"]),
    ({"times": 0, **OK}, "rules[2].times", ["greater than 0"]),
]


@pytest.mark.parametrize(("rule", "place", "said"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake_names_file_rule_and_way_out(
    rule: dict[str, Any], place: str, said: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ModelScript.from_rules([OK, rule], source="demo.yml")
    assert caught.value.file == "demo.yml"
    assert caught.value.key == place
    for text in said:
        assert text in str(caught.value)


def test_several_mistakes_are_counted() -> None:
    with pytest.raises(ConfigurationError, match=r"\(and 1 more\)"):
        ModelScript.from_rules([{}, {}])


def test_a_script_is_read_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "script.yml"
    path.write_text("rules:\n  - when: {user: grüß}\n    answer: Hallo\n", encoding="utf-8")
    script = ModelScript.from_file(path)
    assert script.source == str(path)
    assert script.rules[0].when.user == "grüß"
    assert script.rules[0].answer is not None
    assert script.rules[0].answer.text == "Hallo"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules: [", "cannot be read"),
        ("- a\n- b", "rules: there is no rule in it. Write a list"),
        ("rules:", "rules: there is no rule in it. Write a list"),
        ("", "rules: the file is empty. Write a list"),
        ("rule: []", "Did you mean 'rules'?"),
    ],
)
def test_a_file_that_is_no_script_is_refused_with_its_name(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "script.yml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        ModelScript.from_file(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_missing_file_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.yml"):
        ModelScript.from_file(tmp_path / "absent.yml")


def test_rules_may_be_given_as_objects() -> None:
    rule = Rule.model_validate(OK)
    assert ModelScript.from_rules([rule]).rules == (rule,)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("reset", {"reset": True}),
        ("cut", {"cut": {}}),
        ({"hang": 5}, {"hang": {"max_seconds": 5}}),
        ("hang", {"hang": {"max_seconds": 60}}),
        ({"malformed": "<html>"}, {"malformed": {"body": "<html>"}}),
        ("malformed", {"malformed": {}}),
    ],
)
def test_short_forms_of_faults_mean_their_long_forms(short: Any, long: Any) -> None:
    assert Fault.model_validate(short) == Fault.model_validate(long)


def test_a_template_with_a_syntax_error_is_found_before_serving() -> None:
    script = ModelScript.from_rules([OK, {"answer": "{{ user"}], source="demo.yml")
    with pytest.raises(ConfigurationError, match=r"demo\.yml: rules\[2\]: a template cannot"):
        Player(script)


def test_a_rule_that_is_taken_into_another_script_keeps_its_place(tmp_path: Path) -> None:
    first, second = tmp_path / "first.yml", tmp_path / "second.yml"
    first.write_text("rules: [{answer: hi}]", encoding="utf-8")
    second.write_text("rules: [{answer: hi}, {answer: '{{ user'}]", encoding="utf-8")
    rules = [rule for file in (first, second) for rule in ModelScript.from_file(file).rules]
    with pytest.raises(ConfigurationError) as refused:
        Player(ModelScript.from_rules(rules, source=str(tmp_path)))
    assert (refused.value.file, refused.value.key) == (str(second), "rules[2]")
