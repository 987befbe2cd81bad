from __future__ import annotations

from typing import Any

from rasa_react_ext.testing.cassette import Entry, Playback, RecordedAnswer, RecordedRequest
from tests.testing.bodies import body, system, user


def _request(*texts: str, **more: Any) -> RecordedRequest:
    messages = [system(text) for text in texts[:-1]] + [user(texts[-1])]
    return RecordedRequest(path="/chat/completions", body=body(*messages, **more))


def _playback(*recorded: tuple[RecordedRequest, str]) -> Playback:
    entries = {
        f"{place:03}": Entry(request=request, answer=RecordedAnswer(body=answer))
        for place, (request, answer) in enumerate(recorded, start=1)
    }
    return Playback("tape", entries)


def _played(playback: Playback, request: RecordedRequest) -> str:
    found = playback.find(request)
    assert found is not None
    answer: str = found[1].answer.body
    return answer


def test_requests_are_found_in_any_order() -> None:
    playback = _playback((_request("one"), "1"), (_request("two"), "2"), (_request("three"), "3"))
    asked = ["three", "one", "two", "one"]
    assert [_played(playback, _request(text)) for text in asked] == ["3", "1", "2", "1"]


def test_equal_requests_get_successive_answers_and_then_the_last() -> None:
    playback = _playback(
        (_request("again"), "1"), (_request("other"), "-"), (_request("again"), "2")
    )
    assert [_played(playback, _request("again")) for _ in range(4)] == ["1", "2", "2", "2"]


def test_requests_equal_but_for_the_time_get_successive_answers_at_another_time() -> None:
    playback = _playback(
        (_request("It is 08:00:01.", "hi"), "busy"), (_request("It is 08:00:03.", "hi"), "Hello.")
    )
    answers = [_played(playback, _request(f"It is 17:30:0{n}.", "hi")) for n in (1, 2)]
    assert answers == ["busy", "Hello."]


def test_of_requests_equal_but_for_dates_the_most_alike_answers() -> None:
    playback = _playback(
        (_request("It is 2026-02-19.", "Book 2026-05-12."), "twelfth"),
        (_request("It is 2026-02-19.", "Book 2026-05-13."), "thirteenth"),
    )
    assert _played(playback, _request("It is 2026-03-01.", "Book 2026-05-13.")) == "thirteenth"
    assert _played(playback, _request("It is 2026-03-01.", "Book 2026-05-12.")) == "twelfth"


def test_a_miss_shows_how_the_nearest_recorded_request_differs() -> None:
    playback = _playback(
        (_request("You sell shoes.", "What do shoes cost?"), "10"),
        (_request("You sell hats.", "Bye"), "Bye"),
    )
    asked = _request("You sell shoes.", "What do boots cost?")
    assert playback.find(asked) is None
    assert playback.explain(asked) == (
        "No recorded answer in tape for this request: user: 'What do boots cost?', step 1, "
        "model some-model. The nearest is 001; lines with - are recorded, lines with + were "
        "asked:\n"
        "…\n"
        " messages[1].role: system\n"
        "-messages[2].content: What do shoes cost?\n"
        "+messages[2].content: What do boots cost?\n"
        " messages[2].role: user"
    )


def test_a_small_difference_in_a_long_text_is_shown() -> None:
    text = " ".join(f"word{n}" for n in range(500))
    playback = _playback((_request(text), "a"))
    told = playback.explain(_request(text.replace("word321", "another")))
    assert "another" in told
    assert "word333 " in told
    assert "word200 " not in told


def test_a_long_difference_is_cut() -> None:
    playback = _playback((_request("\n".join(f"line {n}" for n in range(100))), "a"))
    told = playback.explain(_request("short"))
    assert told.endswith("lines more")
    assert len(told.splitlines()) < 50


def test_an_empty_cassette_says_so() -> None:
    assert Playback("tape", {}).explain(_request("x")).endswith("The cassette is empty.")
