"""The application of the recording and replaying servers: play, else ask the provider, else miss.

Knows no lifetime; the cassette keeps the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.types import Receive, Scope, Send

from rasa_react_ext.errors import PeerError
from rasa_react_ext.testing import wire
from rasa_react_ext.testing.cassette import (
    Cassette,
    Entry,
    Playback,
    RecordedAnswer,
    RecordedRequest,
    Secrets,
)
from rasa_react_ext.testing.connection import Connection, OpenConnections
from rasa_react_ext.testing.log import Exchange, RequestLog
from rasa_react_ext.testing.reply import Reply
from rasa_react_ext.testing.upstream import Asked, Upstream

__all__ = ["CassetteApplication"]


class CassetteApplication:
    """Answers from a cassette, from a provider, or from both in this order.

    Args:
        cassette: Gets what the provider answers.
        playback: Finds recorded answers; None asks the provider every time.
        upstream: The provider; None makes a request without a recorded answer an error.
        secrets: Removed from everything that is stored.
        log: Gets every request.
        connections: The connections of the server.
    """

    def __init__(
        self,
        cassette: Cassette,
        *,
        playback: Playback | None,
        upstream: Upstream | None,
        secrets: Secrets,
        log: RequestLog,
        connections: OpenConnections,
    ) -> None:
        self._cassette = cassette
        self._playback = playback
        self._upstream = upstream
        self._secrets = secrets
        self._log = log
        self._connections = connections

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        connection = Connection(scope, receive, send, self._connections)
        asked = _asked(scope, await connection.read())
        body = asked.body
        exchange = self._log.begin(
            scope["path"], asked.headers, body if isinstance(body, dict) else None
        )
        secrets = self._secrets.with_request(asked.headers, asked.query)
        request = RecordedRequest(
            method=asked.method,
            path=secrets.text(asked.target),
            body=secrets.value(body),
        )
        visit = _Visit(
            asked=asked,
            request=request,
            secrets=secrets,
            exchange=exchange,
            connection=connection,
        )
        try:
            await self._answer(visit)
        finally:
            self._log.finish(exchange)

    async def _answer(self, visit: _Visit) -> None:
        found = None if self._playback is None else self._playback.find(visit.request)
        if found is not None:
            visit.exchange.rule, entry = found
            await visit.perform(_reply(entry.answer))
        elif self._upstream is not None:
            await self._record(self._upstream, visit)
        elif self._playback is not None:
            self._log.miss(visit.exchange)
            text = self._playback.explain(visit.request)
            await visit.perform(_failed(text, 400, "no_recorded_answer"))

    async def _record(self, upstream: Upstream, visit: _Visit) -> None:
        """Have the provider answer; a client that leaves early leaves nothing in the cassette."""
        place = self._cassette.take_place()
        exchange = visit.exchange
        try:
            answer = await visit.connection.unless_left(
                upstream.relay(visit.asked, visit.connection)
            )
        except PeerError as error:
            self._log.miss(exchange)
            await visit.perform(_failed(f"{error}.", 502, "upstream_unreachable"))
            return
        if answer is None:
            exchange.client_left = True
            return
        exchange.status, exchange.answer = answer.status, _told(answer)
        entry = Entry(request=visit.request, answer=_clean(answer, visit.secrets))
        try:
            exchange.rule = self._cassette.add(entry, place)
        except OSError as error:
            self._log.lose(error)
            return
        if self._playback is not None:
            self._playback.add(exchange.rule, entry, played=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Visit:
    """One request on its way, and what is known of it."""

    asked: Asked
    request: RecordedRequest
    secrets: Secrets
    exchange: Exchange
    connection: Connection

    async def perform(self, reply: Reply) -> None:
        """Send a reply and note it in the log."""
        self.exchange.answer, self.exchange.status = reply.answer, reply.status
        self.exchange.client_left = not await self.connection.perform(reply)


def _asked(scope: Scope, raw: bytes) -> Asked:
    return Asked(
        method=scope["method"],
        path=scope["path"].removeprefix("/v1"),
        query=scope["query_string"].decode("latin-1"),
        headers={n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]},
        raw=raw,
    )


def _clean(answer: RecordedAnswer, secrets: Secrets) -> RecordedAnswer:
    chunks = None if answer.chunks is None else tuple(secrets.events(answer.chunks))
    return answer.model_copy(update={"body": secrets.value(answer.body), "chunks": chunks})


def _reply(answer: RecordedAnswer) -> Reply:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    content_type = headers.pop("content-type", "application/octet-stream")
    chunks = (_raw(answer.body),) if answer.chunks is None else _encoded(answer.chunks)
    whole = answer.chunks is None and not answer.cut
    return Reply(
        status=answer.status,
        headers=headers,
        content_type=content_type,
        chunks=chunks,
        answer=_told(answer),
        ending="cut" if answer.cut else "whole",
        length=len(chunks[0]) if whole else None,
    )


def _encoded(chunks: tuple[str, ...]) -> tuple[bytes, ...]:
    return tuple(chunk.encode() for chunk in chunks) or (b"",)


def _raw(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    if isinstance(body, str) or body is None:
        return (body or "").encode()
    return wire.encode(body)


def _told(answer: RecordedAnswer) -> Any:
    """What the log shows of an answer."""
    if answer.chunks is not None:
        return "".join(answer.chunks)
    return repr(answer.body) if isinstance(answer.body, bytes) else answer.body


def _failed(text: str, status: int, code: str) -> Reply:
    return Reply.json(wire.error_body(text, status=status, code=code), status=status)
