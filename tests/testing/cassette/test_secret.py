from __future__ import annotations

import json
from typing import Any

import pytest

from rasa_react_ext.testing.cassette import Secrets
from rasa_react_ext.testing.cassette.secret import REMOVED

KEY = "sk-proj-Ab3dEf6hIj9kLm2n"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"Incorrect API key provided: {KEY}.", KEY),
        ("Incorrect API key provided: sk-proj-****9kLm.", "sk-proj-****9kLm"),
        ("send Authorization: Bearer abcDEF123456 with it", "abcDEF123456"),
        ("GET https://x.example/v1?api-key=hunter22&a=1", "hunter22"),
        ("GET https://x.example/v1beta?key=hunter22", "hunter22"),
        ("postgresql://bot:hunter22@db.example/tests", "bot:hunter22"),
        ('{"user": "ann", "password": "hunter22"}', "hunter22"),
        ("{'db_password': 'hunter22'}", "hunter22"),
        (r'{"text": "{\"api_key\": \"hunter22\"}"}', "hunter22"),
        ("OPENAI_API_KEY=hunter22 rasa run", "hunter22"),
        ("AKIAIOSFODNN7EXAMPLE is it", "AKIAIOSFODNN7EXAMPLE"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "eyJzdWIiOiIxIn0"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----", "MIIB"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abc"),
    ],
)
def test_a_secret_in_a_text_is_removed_by_its_form(text: str, secret: str) -> None:
    cleaned = Secrets().text(text)
    assert secret not in cleaned
    assert REMOVED in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "How is Nordwind doing? A risk-averse customer asks; sk-learn is no key.",
        "max_tokens: 100, a token of appreciation, the secret: listen",
        '{"next_page_token": "abcdefghij", "token_count": "12", "author": "ann"}',
        '{"tokens": 5, "monkey": "banana", "passwordless": "yes"}',
        "https://example.org/a?b=c#d, mail@example.org, 12:30@home",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Secrets().text(text) == text


def test_values_of_the_request_are_removed_wherever_they_stand() -> None:
    secrets = Secrets(["very-private"]).with_request(
        {"authorization": "Bearer mysterious99", "x-api-key": "mysterious88", "accept": "all-json"},
        "api-key=mysterious77&api-version=2024-10-21",
    )
    text = secrets.text(
        "very-private mysterious99 mysterious88 mysterious77 2024-10-21 all-json very%2Dprivate"
    )
    assert text == f"{REMOVED} {REMOVED} {REMOVED} {REMOVED} 2024-10-21 all-json very%2Dprivate"


def test_a_placeholder_key_does_not_garble_the_text() -> None:
    secrets = Secrets(["none"]).with_request({"authorization": "Bearer offline"}, "")
    assert secrets.text("none of this works offline") == "none of this works offline"


def test_values_below_names_of_secrets_are_removed_and_others_stay() -> None:
    value: dict[str, Any] = {
        "api_key": "abc",
        "client-secret": "abc",
        "Ocp-Apim-Subscription-Key": "abc",
        "OPENAI_API_KEY": "abc",
        "token": "abc",
        "max_tokens": 5,
        "password": {"type": "string"},
        "logprobs": [{"token": "Hello", "logprob": -0.1}],
        KEY: ["nested", {"Authorization": "Basic abc"}],
    }
    assert Secrets().value(value) == {
        "api_key": REMOVED,
        "client-secret": REMOVED,
        "Ocp-Apim-Subscription-Key": REMOVED,
        "OPENAI_API_KEY": REMOVED,
        "token": REMOVED,
        "max_tokens": 5,
        "password": {"type": "string"},
        "logprobs": [{"token": "Hello", "logprob": -0.1}],
        REMOVED: ["nested", {"Authorization": REMOVED}],
    }


def _event(delta: dict[str, Any], index: int = 0) -> str:
    return f"data: {json.dumps({'choices': [{'index': index, 'delta': delta}]})}\n\n"


@pytest.mark.parametrize("size", [1, 2, 5, 9, 40])
def test_a_secret_split_over_deltas_is_removed(size: int) -> None:
    said = f"Your key is {KEY}, keep it."
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    events = [_event({"content": piece}) for piece in pieces]
    cleaned = Secrets().events([*events, "data: [DONE]\n\n"])
    read = [json.loads(event.removeprefix("data: ")) for event in cleaned[:-1]]
    text = "".join(event["choices"][0]["delta"]["content"] for event in read)
    assert text == f"Your key is {REMOVED}, keep it."
    assert cleaned[-1] == "data: [DONE]\n\n"


def test_arguments_of_parallel_calls_are_cleaned_each_for_itself() -> None:
    def call(index: int, arguments: str) -> str:
        return _event({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})

    cleaned = Secrets().events(
        [
            call(0, '{"pass'),
            call(1, '{"note": "a'),
            call(0, 'word": "hun'),
            call(1, 'bc"}'),
            call(0, 'ter2"}'),
        ]
    )
    joined = {0: "", 1: ""}
    for event in cleaned:
        fragment = json.loads(event.removeprefix("data: "))["choices"][0]["delta"]["tool_calls"][0]
        joined[fragment["index"]] += fragment["function"]["arguments"]
    assert joined == {0: f'{{"password": "{REMOVED}"}}', 1: '{"note": "abc"}'}


def test_events_without_a_secret_stay_as_they_are() -> None:
    events = [": a comment\n\n", 'data:  {"odd" :1,"choices":[]}\r\n\r\n', "data: [DONE]\n\n"]
    assert Secrets().events(events) == events
