from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.testing.condition import compile_conditions, shorten
from rasa_react_ext.testing.request import ChatRequest
from rasa_react_ext.testing.script import When
from tests.testing.bodies import body, called, result, system, tool, user

REQUEST = body(
    system("You are Helpful."),
    user("Price of ACME?"),
    called(("c1", "find_symbol"), arguments={"q": "ACME"}),
    result("c1", "Symbol: ACM\n(found)"),
    tools=[tool("find_symbol"), tool("news")],
)
BARE = body(user("hi"))

HOLD = [
    {"user": "price OF"},
    {"user": "/^Price of (\\w+)/"},
    {"user": "/^price/i"},
    {"tool": "find_symbol"},
    {"result": "acm"},
    {"result": "/^Symbol.*found/s"},
    {"result": "/^.found/m"},
    {"last": "tool"},
    {"tools": ["find_symbol"]},
    {"tools": ["news", "find_symbol"]},
    {"no_tools": False},
    {"tool_choice": "auto"},
    {"step": 2},
    {"system": "helpful"},
    {"anywhere": "you are"},
    {"anywhere": '/"name": "find_\\w+"/'},
    {"not_anywhere": "bond"},
    {"model": "some"},
    {},
]
FAIL = [
    ({"user": "bond"}, "`user: bond` does not hold (the last user message is 'Price of ACME?')"),
    ({"user": "/^price/"}, "'Price of ACME?'"),
    ({"tool": "news"}, "the tool of the last message is find_symbol"),
    ({"result": "bond"}, "the last result is 'Symbol: ACM (found)'"),
    ({"last": "user"}, "the last message's role is tool"),
    ({"tools": ["news", "buy"]}, "not offered: buy"),
    ({"no_tools": True}, "2 tools are offered"),
    ({"tool_choice": "none"}, "tool_choice is auto"),
    ({"step": 1}, "the step is 2"),
    ({"system": "rude"}, "the system message is 'You are Helpful.'"),
    ({"anywhere": "bond"}, "the conversation does not contain it"),
    ({"not_anywhere": "acme"}, "the conversation contains it"),
    ({"model": "/^gpt/"}, "the model is 'some-model'"),
]


def _failing(when: dict[str, Any], request: dict[str, Any]) -> list[str]:
    asked = ChatRequest(request)
    return [
        f"`{condition.key}: {condition.wanted}` does not hold ({condition.actual(asked)})"
        for condition in compile_conditions(When.model_validate(when))
        if not condition.test(asked)
    ]


@pytest.mark.parametrize("when", HOLD, ids=str)
def test_a_condition_holds(when: dict[str, Any]) -> None:
    assert _failing(when, REQUEST) == []


@pytest.mark.parametrize(("when", "reason"), FAIL, ids=lambda value: str(value)[:40])
def test_a_condition_that_fails_says_what_the_request_has(
    when: dict[str, Any], reason: str
) -> None:
    (said,) = _failing(when, REQUEST)
    assert reason in said


def test_every_key_has_a_row_that_holds_and_one_that_fails() -> None:
    assert {key for when in HOLD for key in when} == set(When.model_fields)
    assert {key for when, _ in FAIL for key in when} == set(When.model_fields)


def test_no_tools_and_absent_facts_are_told_apart() -> None:
    assert _failing({"no_tools": True, "tool_choice": "none", "step": 1}, BARE) == []
    assert len(_failing({"no_tools": False, "tool": "x", "result": "x"}, BARE)) == 3


def test_shortening_keeps_one_line() -> None:
    assert shorten("a\n  b") == "a b"
    assert shorten("x" * 200, 10) == "x" * 9 + "…"
