"""The gate before the protocol's routes: who calls, how often, how much, and is it JSON.

Refusals are constant and are sent before the body is read.
"""

from __future__ import annotations

import json
import math
import time
from collections import OrderedDict
from typing import Any, NoReturn

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rasa_react_ext.a2a_server.auth import Authenticator
from rasa_react_ext.a2a_server.call import SCOPE_KEY, VERSION_HEADER, Call

__all__ = ["Gate", "RateLimit"]

PUBLIC = frozenset({"/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a/health"})
JSON_TYPES = ("application/json", "application/a2a+json")
CALLERS = 10_000


class RateLimit:
    """Requests of each caller in a minute, evened out; in this process."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, caller: str) -> bool:
        """Count a request; False if it is one too many."""
        if not self._per_minute:
            return True
        now = time.monotonic()
        left, seen = self._left.pop(caller, (float(self._per_minute), now))
        left = min(self._per_minute, left + (now - seen) * self._per_minute / 60)
        self._left[caller] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._left) > CALLERS:
            self._left.popitem(last=False)
        return left >= 1


class Gate:
    """ASGI middleware around all routes."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        rate: RateLimit,
        max_body_bytes: int,
        card_requires_auth: bool,
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._rate = rate
        self._limit = max_body_bytes
        self._public = frozenset({"/a2a/health"}) if card_requires_auth else PUBLIC

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in scope["headers"]
        }
        version = headers.get(VERSION_HEADER, "")
        call = Call(protocol="0.3" if not version or version.startswith("0.") else "1.0")
        scope[SCOPE_KEY] = call
        known = await self._authenticator.caller(headers, call)
        if not known and scope["path"] not in self._public:
            await _refuse(
                send,
                401,
                "UNAUTHENTICATED",
                "valid credentials are required",
                [(b"www-authenticate", self._authenticator.challenge.encode())],
            )
            return
        if not self._rate.allows(call.caller):
            await _refuse(
                send, 429, "RESOURCE_EXHAUSTED", "too many requests", [(b"retry-after", b"1")]
            )
            return
        await self._pass_on(scope, headers, receive, _Answer(call, send))

    async def _pass_on(
        self, scope: Scope, headers: dict[str, str], receive: Receive, answer: _Answer
    ) -> None:
        body = b""
        if scope["method"] in ("POST", "PUT", "PATCH"):
            read = await self._read(headers, receive)
            if read is None:
                await _refuse(
                    answer, 413, "OUT_OF_RANGE", f"a request has at most {self._limit} bytes"
                )
                return
            body = read
            kind = headers.get("content-type", JSON_TYPES[0]).partition(";")[0].strip().lower()
            if body and kind not in JSON_TYPES:
                await _refuse(
                    answer, 415, "INVALID_ARGUMENT", f"send {' or '.join(JSON_TYPES)}", code=-32600
                )
                return
            # JSON-RPC has no request without a body; some of the other binding have one.
            if (body or scope["path"] == "/") and not _is_json(body):
                await _refuse(
                    answer, 400, "INVALID_ARGUMENT", "the body is no valid JSON", code=-32700
                )
                return
        await self._app(scope, _replayed(body, receive), answer)

    async def _read(self, headers: dict[str, str], receive: Receive) -> bytes | None:
        """The body; None as soon as it is known to be too large."""
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > self._limit:
            return None
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return b"".join(parts)
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limit:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)


class _Answer:
    """Sends an answer, with the status that the call asks for."""

    def __init__(self, call: Call, send: Send) -> None:
        self._call = call
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and self._call.status is not None:
            message = {**message, "status": self._call.status}
        await self._send(message)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever comes: the client going away."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


async def _refuse(
    send: Any,
    status: int,
    name: str,
    message: str,
    headers: list[tuple[bytes, bytes]] | None = None,
    *,
    code: int | None = None,
) -> None:
    """Answer in the form of both bindings: readers of either find what they look for."""
    error: dict[str, Any] = {"code": code or status, "status": name, "message": message}
    payload = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(payload)).encode()),
            *(headers or []),
        ],
    }
    await send(start)
    await send({"type": "http.response.body", "body": payload, "more_body": False})


def _is_json(body: bytes) -> bool:
    """Whether a body is JSON that every layer below can hold."""
    try:
        json.loads(body, parse_constant=_no_number, parse_float=_number, parse_int=_number)
    except (ValueError, RecursionError):
        return False
    return b"\\ud8" not in body.lower() or _has_whole_characters(body)


def _has_whole_characters(body: bytes) -> bool:
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number in JSON")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value
