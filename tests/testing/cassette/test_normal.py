from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.testing.cassette.normal import Normal
from tests.testing.bodies import body, called, result, said, system, tool, user


def _normal(body: Any, path: str = "/chat/completions") -> Normal:
    return Normal(method="POST", path=path, body=body)


def _equal(one: Any, other: Any) -> bool:
    return _normal(one).key == _normal(other).key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is 2026-02-19.", "It is 2027-11-03."),
        ("at 2026-02-19T08:00:00Z", "at 2027-11-03T09:30:59.123+02:00"),
        (
            "It is Thursday, 19 February 2026, 08:00:00 (UTC).",
            "It is Monday, 1 March 2027, 23:59:01 (UTC).",
        ),
        ("Current date: 19 February, 2026", "Current date: 03 May, 2027"),
        ("Current day: Thursday", "Current day: Monday"),
        ("Feb 19, 2026", "March 3rd, 2027"),
        ("19.02.2026 8:00 AM", "3.11.2027 12:30 pm"),
        (
            "order 0b6e3e6e-7d0f-4a58-9d53-5a2b6c1d2e3f",
            "order 11111111-2222-3333-4444-555555555555",
        ),
        ("session sess_4f9a8b7c6d", "session sess_0011223344"),
        ("digest 9f86d081884c7d659a2feaa0c55ad015", "digest 0123456789abcdef0123456789abcdef"),
        ("at 1764469184.25", "at 1800000000"),
        ("http://127.0.0.1:5100/x", "http://127.0.0.1:40123/x"),
        ("several   words\n\n on lines ", "several words\non lines"),
    ],
)
def test_dates_times_ids_addresses_and_white_space_do_not_count(one: str, other: str) -> None:
    assert _equal(body(user(one)), body(user(other)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book Monday.", "Book Tuesday."),
        ("price 12", "price 13"),
        ("step run_tests", "step run_checks"),
        ("the call_back_later flow", "the call_back_sooner flow"),
        ("2026-02-19", "08:00"),
    ],
)
def test_other_words_count(one: str, other: str) -> None:
    assert not _equal(body(user(one)), body(user(other)))


def test_call_ids_count_by_their_order_only() -> None:
    def asked(one: str, two: str, *answered: str) -> dict[str, Any]:
        return body(
            user("hi"), called((one, "find"), (two, "news")), *[result(id_) for id_ in answered]
        )

    assert _equal(asked("a", "b", "a", "b"), asked("x", "y", "x", "y"))
    assert not _equal(asked("a", "b", "a", "b"), asked("a", "b", "b", "a"))


def test_json_in_arguments_and_results_counts_by_its_values() -> None:
    one = body(user("hi"), called(("a", "f"), arguments='{"a":1, "b":2}'), result("a", '{"c": 3}'))
    two = body(user("hi"), called(("a", "f"), arguments='{"b": 2,"a": 1}'), result("a", '{"c":3 }'))
    other = body(user("hi"), called(("a", "f"), arguments='{"a": 1}'), result("a", '{"c": 3}'))
    assert _equal(one, two)
    assert not _equal(one, other)


def test_a_text_in_parts_is_a_text_and_null_is_absent() -> None:
    parts = [{"type": "text", "text": "How "}, {"type": "text", "text": "much?"}]
    assert _equal(body(user(parts)), body(user("How much?")))
    assert _equal(body(user("a"), tool_choice=None), body(user("a")))


def test_who_asks_does_not_count_and_how_does() -> None:
    plain = body(user("a"))
    assert _equal(plain, {**plain, "user": "ann", "metadata": {"trace": "1"}})
    for setting in ({"stream": True}, {"temperature": 0.5}, {"model": "b"}, {"tools": [tool("f")]}):
        assert not _equal(plain, {**plain, **setting})


def test_the_path_counts_without_its_query() -> None:
    one = _normal({}, "/chat/completions?api-version=1")
    assert one.key == _normal({}, "/chat/completions").key
    assert one.key != _normal({}, "/embeddings").key


@pytest.mark.parametrize("odd", [None, b"\xff", "text", [], {"messages": ["x", {"role": "tool"}]}])
def test_odd_bodies_are_compared_too(odd: Any) -> None:
    assert _normal(odd).key == _normal(odd).key


def test_lines_name_the_place_and_keep_the_lines_of_a_text() -> None:
    normal = _normal(body(system("Be kind.\n\nIt is 08:00."), said("Hi")))
    assert normal.lines == (
        "POST /chat/completions",
        "messages[1].content:",
        "  Be kind.",
        "  It is <time>.",
        "messages[1].role: system",
        "messages[2].content: Hi",
        "messages[2].role: assistant",
        "model: some-model",
    )
    assert normal.masked == ("08:00",)
