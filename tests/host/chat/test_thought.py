"""Thinking blocks stay out of the visible text, however the text is cut."""

from __future__ import annotations

import pytest

from rasa_react_ext.host.chat.thought import ThoughtFilter, visible_text

CASES = {
    "": "",
    "  \n": "",
    "Hello <b>you</b>": "Hello <b>you</b>",
    "<think>secret</think>": "",
    "<think>secret</think>\n\nHello": "Hello",
    "\n<think>secret</think>\n\nHello": "Hello",
    "<THINK>secret</Think>Hello": "Hello",
    "<thinking>a < b</thinking>Hello": "Hello",
    "<thought>secret</thought>Hello": "Hello",
    "One <think>secret</think>two": "One two",
    "One <think>never closed": "One ",
    "a < b and <tag> and <thin": "a < b and <tag> and <thin",
    "<think>a</think>x<think>b</think>y": "xy",
}


@pytest.mark.parametrize(("text", "visible"), CASES.items())
def test_b06_thinking_is_dropped_wherever_the_text_is_cut(text: str, visible: str) -> None:
    for size in range(1, len(text) + 2):
        thoughts = ThoughtFilter()
        pieces = [thoughts.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert "".join(pieces) + thoughts.finish() == visible


@pytest.mark.parametrize(("text", "visible"), CASES.items())
def test_b06_a_whole_answer_is_read_the_same(text: str, visible: str) -> None:
    assert visible_text(text) == visible.rstrip()


def test_text_that_cannot_be_a_tag_is_passed_on_at_once() -> None:
    thoughts = ThoughtFilter()
    assert thoughts.feed("a <b") == "a <b"
    assert thoughts.feed(" <th") == " "
    assert thoughts.feed("e end") == "<the end"


def test_b06_everything_before_a_lone_closing_tag_is_thinking() -> None:
    assert visible_text("secret</think>\nHello") == "Hello"
    assert visible_text("Hi <think>secret</think>there</think>!") == "Hi there!"


def test_a_lone_closing_tag_in_a_stream_is_not_shown() -> None:
    thoughts = ThoughtFilter()
    assert thoughts.feed("Hello</think> you") + thoughts.finish() == "Hello you"
