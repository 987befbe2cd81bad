"""Every failure becomes a `ModelError` of the right kind, without keys in its text."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.fault import answered_fault, embedded_fault, time_limit

NO_RULE = "no_matching_rule"
AZURE_FILTER = {
    "error": {
        "message": "The response was filtered.",
        "code": "content_filter",
        "status": 400,
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }
}
AZURE_INNER_ONLY = {
    "error": {"message": "No.", "innererror": {"code": "ResponsibleAIPolicyViolation"}}
}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, {"error": {"message": "slow down"}}, "rate_limit"),
        (429, {"error": {"code": "insufficient_quota"}}, "refused_request"),
        (408, "", "timeout"),
        (500, "oops", "unavailable"),
        (503, {"error": "overloaded"}, "unavailable"),
        (504, "<html>gateway</html>", "unavailable"),
        (529, "", "unavailable"),
        (409, "", "unavailable"),
        (400, AZURE_FILTER, "content_filter"),
        (400, AZURE_INNER_ONLY, "content_filter"),
        (400, {"error": {"code": "context_length_exceeded"}}, "context_length"),
        (400, {"error": {"message": "maximum context length is 8192"}}, "context_length"),
        (413, "", "context_length"),
        (400, {"error": {"message": "bad schema"}}, "refused_request"),
        (401, {"error": {"message": "who are you"}}, "refused_request"),
        (404, {"detail": "no such model"}, "refused_request"),
        (422, [{"error": {"message": "bad"}}], "refused_request"),
    ],
)
def test_b34_a_status_and_a_body_have_a_kind(status: int, body: Any, kind: str) -> None:
    error = answered_fault("sales", status, body if isinstance(body, str) else json.dumps(body))
    assert error.kind == kind
    assert error.peer == "sales"
    assert error.retryable is (kind in {"rate_limit", "unavailable", "timeout"})
    assert str(status) in str(error)


def test_the_providers_sentence_is_shown_short_and_without_keys() -> None:
    long = {
        "error": {
            "message": "Bad key my-secret, sk-proj-abcdef123, Bearer abcdef.ghi\n" + "x" * 999
        }
    }
    text = str(answered_fault("sales", 401, json.dumps(long), secrets=["my-secret"]))
    assert "Bad key ***, ***, ***" in text
    assert len(text) < 420
    assert text.endswith("Check the settings of the model group.")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_the_providers_pause_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert answered_fault("sales", 429, "", headers=headers).retry_after_seconds == seconds


def test_the_providers_pause_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    seconds = answered_fault("sales", 503, "", headers={"Retry-After": date}).retry_after_seconds
    assert seconds is not None
    assert 60 < seconds <= 90


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 429, "message": "slow"}, "rate_limit"),
        ({"type": "rate_limit_error"}, "rate_limit"),
        ({"type": "server_error", "message": "oops"}, "unavailable"),
        ("overloaded", "unavailable"),
        ({"type": "invalid_request_error"}, "refused_request"),
        ({"code": "content_filter"}, "content_filter"),
        ({"code": "context_length_exceeded"}, "context_length"),
    ],
)
def test_a_failure_inside_an_answer_has_a_kind(error: Any, kind: str) -> None:
    assert embedded_fault("sales", json.dumps({"error": error})).kind == kind


async def test_only_the_limits_own_end_becomes_a_model_error() -> None:
    with pytest.raises(ModelError, match=r"within 0\.01 s") as caught:
        async with time_limit("sales", 0.01):
            await asyncio.Event().wait()
    assert caught.value.kind == "timeout"
    with pytest.raises(TimeoutError):
        async with time_limit("sales", 5):
            raise TimeoutError


def test_a_script_without_an_answer_is_to_be_corrected_and_not_the_model_group() -> None:
    body = {"error": {"message": "own.yml: a template cannot be filled", "code": NO_RULE}}
    text = str(answered_fault("agents", 400, json.dumps(body)))
    assert text.endswith("a template cannot be filled. Correct the script of the model.")
