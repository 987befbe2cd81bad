"""Turns every failure of a provider into a `ModelError` with the right kind.

Provider messages are shortened and freed of keys before they are shown.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Any, cast

import aiohttp

from rasa_react_ext.errors import ModelError

__all__ = [
    "answered_fault",
    "embedded_fault",
    "kind_of",
    "provider_message",
    "retry_after_seconds",
    "time_limit",
    "transport_fault",
]

_MESSAGE_LENGTH = 300
_SHORTEST_SECRET = 6
_SECRET = re.compile(r"\b(?:sk|pk|gsk|xai|rk)[-_][\w*.-]{6,}|(?i:bearer)\s+[\w.~+/=-]{6,}")
_CONTENT_FILTER = (
    "content_filter",
    "content_policy_violation",
    "contentpolicyviolation",
    "content management policy",
    "responsibleaipolicyviolation",
)
_CONTEXT_LENGTH = (
    "context_length_exceeded",
    "contextwindowexceeded",
    "context length",
    "context window",
    "input is too long",
    "maximum number of tokens",
    "prompt is too long",
)
_NO_MONEY = ("insufficient_quota", "billing_hard_limit_reached")
_WORDED_STATUS = (
    ("rate_limit", 429),
    ("too many requests", 429),
    *((word, 400) for word in (*_CONTENT_FILTER, *_CONTEXT_LENGTH)),
    ("invalid_request", 400),
    ("authentication", 401),
)
_ADVICE = {
    "rate_limit": "Try again later or raise the quota.",
    "unavailable": "Try again later.",
    "timeout": "Try again later or raise the timeout of the model group.",
    "content_filter": "Change the prompt or the filter of the deployment.",
    "context_length": "Shorten the prompt or the history.",
    "refused_request": "Check the settings of the model group.",
    "bad_answer": "Check that api_base names a chat completions endpoint.",
}
_NO_RULE = "no_matching_rule"
"""The code by which the scripted model says that its script has no answer."""

_CORRECT_SCRIPT = "Correct the script of the model."


def answered_fault(
    peer: str,
    status: int,
    text: str,
    *,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
    clues: str = "",
) -> ModelError:
    """The error for an answer that carries a failure.

    Args:
        peer: Name of the model group.
        status: HTTP status, or the nearest one when the failure came in a stream.
        text: Body of the answer, JSON or not.
        headers: Headers of the answer, for the pause the provider asks for.
        secrets: Values that must not appear in the message.
        clues: Further text that may name the kind of failure but is not shown.
    """
    kind = kind_of(status, text + clues)
    message = provider_message(text, secrets)
    said = f": {message}" if message else ""
    advice = _CORRECT_SCRIPT if _NO_RULE in text else _ADVICE[kind]
    return ModelError(
        peer,
        f"Model {peer!r} answered {status}{said} {advice}",
        kind=kind,
        retry_after_seconds=retry_after_seconds(headers or {}),
    )


def embedded_fault(peer: str, text: str, *, secrets: Iterable[str] = ()) -> ModelError:
    """The error for a failure that came with status 200 or in the middle of a stream."""
    body = json.loads(text)
    error = body.get("error")
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, int) and code >= 400:
        return answered_fault(peer, code, text, secrets=secrets)
    lowered = text.lower()
    status = next((found for word, found in _WORDED_STATUS if word in lowered), 500)
    return answered_fault(peer, status, text, secrets=secrets)


def transport_fault(peer: str, error: BaseException, *, secrets: Iterable[str] = ()) -> ModelError:
    """The error for a request that got no whole answer."""
    kind = "unavailable"
    if isinstance(error, TimeoutError):
        kind = "timeout"
    elif isinstance(error, (aiohttp.ClientSSLError, ValueError)):
        kind = "refused_request"
    reason = provider_message(str(error), secrets) or type(error).__name__
    return ModelError(
        peer, f"Model {peer!r} could not be reached: {reason} {_ADVICE[kind]}", kind=kind
    )


def kind_of(status: int, text: str) -> str:
    """The kind of failure an HTTP status and a body stand for."""
    lowered = text.lower()
    if status == 429:
        spent = any(word in lowered for word in _NO_MONEY)
        return "refused_request" if spent else "rate_limit"
    if status == 408:
        return "timeout"
    if status >= 500 or status in {409, 425}:
        return "unavailable"
    if any(word in lowered for word in _CONTENT_FILTER):
        return "content_filter"
    if status == 413 or any(word in lowered for word in _CONTEXT_LENGTH):
        return "context_length"
    return "refused_request"


def provider_message(text: str, secrets: Iterable[str] = ()) -> str:
    """The sentence inside an error body: one line, short, ended, without keys."""
    message = " ".join(_sentence(text).split())
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            message = message.replace(secret, "***")
    message = _SECRET.sub("***", message)
    if len(message) > _MESSAGE_LENGTH:
        return message[:_MESSAGE_LENGTH] + "…"
    return message + "." if message[-1:].isalnum() else message


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """The pause a provider asks for (RFC 9110, 10.2.3, and OpenAI's `retry-after-ms`)."""
    lowered = {key.lower(): value for key, value in headers.items()}
    for key, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(lowered[key]) * scale)
        except (KeyError, ValueError):
            continue
    try:
        return max(0.0, parsedate_to_datetime(lowered["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError):
        return None


@asynccontextmanager
async def time_limit(peer: str, seconds: float) -> AsyncGenerator[None]:
    """Limit what is awaited inside; only this limit's own expiry becomes a `ModelError`."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise ModelError(
            peer,
            f"Model {peer!r} did not answer within {seconds:g} s. {_ADVICE['timeout']}",
            kind="timeout",
        ) from error


def _sentence(text: str) -> str:
    """The message of the error shapes providers use, else the text itself."""
    try:
        body: Any = json.loads(text)
    except ValueError:
        return text
    if isinstance(body, list):
        body = next(iter(cast("list[Any]", body)), None)
    error: Any = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping):
        found = cast("Mapping[str, Any]", error)
        error = found.get("message") or found.get("detail") or found.get("code") or text
    return error if isinstance(error, str) else json.dumps(error)
