"""Prompt templates (cases TEXT)."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rasa_react_ext.engine import prompt
from rasa_react_ext.errors import ConfigurationError

HOSTILE = "what does {x} and {{ 7*7 }} and {% raw %} and {# no #} mean?"
KINDS = pytest.mark.parametrize("kind", ["open", "task"])


def test_b102_values_appear_literally_and_are_never_rendered() -> None:
    made = prompt.render(
        "{{ description }}|{{ slots.a }}", {"description": HOSTILE, "slots": {"a": HOSTILE}}
    )
    assert made == f"{HOSTILE}|{HOSTILE}"


@KINDS
def test_b102_our_templates_show_descriptions_literally(kind: str) -> None:
    made = prompt.render(prompt.default_template(kind), {"description": HOSTILE})
    assert HOSTILE in made


@given(st.text())
def test_b102_any_value_is_data(value: str) -> None:
    assert prompt.render("<{{ slots.a }}>", {"slots": {"a": value}}) == f"<{value}>"


@pytest.mark.parametrize(
    "source",
    ["{{ ''.__class__.__mro__ }}", "{{ slots.__init__.__globals__ }}", "{{ f.__globals__ }}"],
)
def test_b102_templates_cannot_reach_into_python(source: str) -> None:
    try:
        made = prompt.render(source, {"slots": {}, "f": lambda: None})
    except ConfigurationError:
        return
    assert made == ""


@pytest.mark.parametrize(
    "source",
    [
        "{{ slots.stranger }}",
        "{{ slots.user.name.first }}",
        "{{ slots.user['name'] | upper }}",
        "{{ nobody.strftime('%A') }}",
        "{{ current_datetime.strftime('%A').upper() }}",
        "{{ slots.user }}",
        "{{ nobody }}",
        "{% for one in nobody %}x{% endfor %}",
        "{% if nobody.here() %}x{% endif %}",
    ],
)
def test_b103_what_is_not_there_renders_as_nothing(source: str) -> None:
    variables: dict[str, Any] = {"slots": {"user": None}, "current_datetime": None}
    assert prompt.render(source, variables) == ""


@pytest.mark.parametrize(
    "source",
    [
        "{{ slots.n + 'a' }}",
        "{{ slots.n() }}",
        "{{ slots.n | nofilter }}",
        "{{ 1 / 0 }}",
        "{{ slots.t.format(1) }}",
        "{% for n in range(1000000) %}{% endfor %}",
        "{{ nobody + 1 }}",
        "{% include 'secret' %}",
        "{% if %}",
    ],
)
def test_b103_every_failure_of_a_template_is_a_configuration_error(source: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be rendered") as failed:
        prompt.render(source, {"slots": {"n": 1, "t": "{a}"}})
    assert failed.value.file == "prompt_template"
    assert failed.value.__cause__ is not None


def test_b103_an_empty_template_renders_as_nothing() -> None:
    assert prompt.render(" ", {}).strip() == ""
    with pytest.raises(ConfigurationError, match=r"'\{\{ 1/0 \}\}'"):
        prompt.render("{{ 1/0 }}\n" + "x" * 100, {})


def test_b103_a_syntax_error_is_refused_with_file_and_line() -> None:
    with pytest.raises(ConfigurationError) as refused:
        prompt.check("fine\n{% if %}", file="prompts/a.jinja2")
    assert refused.value.file == "prompts/a.jinja2"
    assert refused.value.key == "line 2"
    with pytest.raises(ConfigurationError, match="line 1"):
        prompt.uses("{{ a b }}")


def test_b103_unknown_variables_are_told() -> None:
    source = "{{ slots.a }} {{ stranger }} {{ user_message }} {% for x in y %}{{ x }}{% endfor %}"
    assert prompt.check(source, file="f") == {"stranger", "y"}
    assert prompt.uses(source) == {"slots", "stranger", "user_message", "y"}


@KINDS
def test_b103_our_templates_use_known_variables_only(kind: str) -> None:
    assert prompt.check(prompt.default_template(kind), file=kind) == frozenset()


@KINDS
@pytest.mark.parametrize(
    ("utc", "shown"),
    [
        (
            datetime(2026, 1, 31, 13, 0, 59, tzinfo=ZoneInfo("UTC")),
            "Sunday, 01 February 2026, 02:00",
        ),
        (datetime(2026, 9, 26, 14, 30, tzinfo=ZoneInfo("UTC")), "Sunday, 27 September 2026, 03:30"),
    ],
)
def test_b104_our_templates_show_date_time_and_zone(kind: str, utc: datetime, shown: str) -> None:
    there = utc.astimezone(ZoneInfo("Pacific/Auckland"))
    made = prompt.render(prompt.default_template(kind), {"current_datetime": there})
    assert f"It is {shown} (NZDT)." in made


@KINDS
def test_b104_without_date_and_time_our_templates_say_nothing_of_it(kind: str) -> None:
    assert "It is " not in prompt.render(prompt.default_template(kind), {})


@KINDS
def test_our_templates_tell_of_interruption_restart_and_fillers_when_asked(kind: str) -> None:
    plain = prompt.render(prompt.default_template(kind), {"slot_names": ["a", "b"]})
    full = prompt.render(
        prompt.default_template(kind),
        {
            "slot_names": "a, b",
            "enable_filler_messages": True,
            "restarted": True,
            "resumed_after_interruption": True,
            "resumed_last_request": "Which day?",
        },
    )
    for told in ("Which day?", "A new start", "interrupted", "While tools run"):
        assert told in full
        assert told not in plain
    if kind == "task":
        assert "a, b" in plain
        assert "a, b" in full
