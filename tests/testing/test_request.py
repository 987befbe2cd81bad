from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.testing.request import ChatRequest, text_of
from tests.testing.bodies import body, called, result, said, system, tool, user


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hello", "hello"),
        (None, ""),
        (7, ""),
        ([{"type": "text", "text": "a"}, {"type": "image_url"}, "odd", {"text": "b"}], "ab"),
    ],
)
def test_text_is_read_from_strings_and_parts(content: Any, text: str) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("messages", "step"),
    [
        ([], 1),
        ([user("hi")], 1),
        ([user("hi"), called(("a", "x")), result("a")], 2),
        ([user("hi"), called(("a", "x"), ("b", "y")), result("a"), result("b")], 2),
        ([user("hi"), called(("a", "x")), result("a"), called(("b", "x")), result("b")], 3),
        ([user("hi"), called(("a", "x")), result("a"), said("so"), user("and")], 1),
    ],
)
def test_the_step_counts_batches_since_the_last_user_message(
    messages: list[dict[str, Any]], step: int
) -> None:
    assert ChatRequest(body(*messages)).step == step


@pytest.mark.parametrize(
    ("messages", "name"),
    [
        ([user("hi")], ""),
        ([user("hi"), called(("a", "x"), ("b", "y")), result("a")], "x"),
        ([user("hi"), called(("a", "x"), ("b", "y")), result("a"), result("b")], "y"),
        ([user("hi"), called(("c", "x"), ("c", "y")), result("c"), result("c")], "y"),
        ([user("hi"), called(("a", "x"), ("b", "y")), result("b"), result("a")], "x"),
        ([called(("a", "old")), result("a"), called(("a", "new")), result("a")], "new"),
        ([user("hi"), called(("a", "x")), result("other")], ""),
        ([result("a") | {"name": "named"}], "named"),
    ],
)
def test_the_tool_of_a_result_is_found_through_its_call(
    messages: list[dict[str, Any]], name: str
) -> None:
    assert ChatRequest(body(*messages)).tool == name


@pytest.mark.parametrize(
    ("more", "choice"),
    [
        ({}, "none"),
        ({"tools": [tool("x")]}, "auto"),
        ({"tool_choice": "required"}, "required"),
        ({"tool_choice": {"type": "function", "function": {"name": "x"}}}, "x"),
        ({"tool_choice": {"type": "odd"}}, ""),
    ],
)
def test_the_tool_choice_has_the_defaults_of_the_api(more: dict[str, Any], choice: str) -> None:
    assert ChatRequest(body(user("hi"), **more)).tool_choice == choice


def test_the_result_belongs_to_the_current_turn() -> None:
    old = [user("a"), called(("1", "x")), result("1", "old"), said("ok")]
    assert ChatRequest(body(*old, user("b"))).result == ""
    assert ChatRequest(body(*old)).result == "old"


def test_texts_of_the_conversation_are_joined() -> None:
    request = ChatRequest(body(system("one"), system("two"), user("hi"), called(("1", "find"))))
    assert request.system == "one\ntwo"
    assert "hi" in request.conversation
    assert '"find"' in request.conversation


@pytest.mark.parametrize("odd", [{}, {"messages": "x", "tools": 1}, {"messages": [1, None]}])
def test_any_shape_of_body_is_read(odd: dict[str, Any]) -> None:
    request = ChatRequest(odd, deployment="d")
    facts = (request.last_role, request.user, request.tool, request.tools, request.step)
    assert facts == ("", "", "", [], 1)
    assert request.model == "d"
    assert request.streams is request.includes_usage is False
