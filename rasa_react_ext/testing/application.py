"""The server's application: reads a request, records it, lets the script answer.

Judges nothing itself; knows no lifetime.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from rasa_react_ext.testing import wire
from rasa_react_ext.testing.connection import Connection, OpenConnections
from rasa_react_ext.testing.embedding import embeddings
from rasa_react_ext.testing.log import Exchange, RequestLog
from rasa_react_ext.testing.profile import Profile
from rasa_react_ext.testing.reply import Player, Reply
from rasa_react_ext.testing.request import ChatRequest

__all__ = ["ModelApplication"]

_CHAT_PATHS = (
    "/v1/chat/completions",
    "/chat/completions",
    "/openai/v1/chat/completions",
    "/openai/deployments/{deployment}/chat/completions",
)
_EMBEDDING_PATHS = tuple(path.replace("chat/completions", "embeddings") for path in _CHAT_PATHS)
_MODELS_PATHS = ("/v1/models", "/models")


class ModelApplication:
    """Answers chat completions by a script.

    Args:
        player: Plays the script; may be replaced while the server runs.
        profile: Looks at each request first and may refuse it.
        log: Gets every request.
        connections: The connections of the server.
    """

    def __init__(
        self, player: Player, profile: Profile, log: RequestLog, connections: OpenConnections
    ) -> None:
        self.player = player
        self.profile = profile
        self._log = log
        self._connections = connections

    def asgi(self) -> Starlette:
        """The routes, as one ASGI application."""
        routes = [Route(path, _Raw(self), methods=["POST"]) for path in _CHAT_PATHS]
        routes += [Route(path, _embed, methods=["POST"]) for path in _EMBEDDING_PATHS]
        routes += [Route(path, _list_models, methods=["GET"]) for path in _MODELS_PATHS]
        return Starlette(routes=routes)

    async def chat(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one chat completion."""
        connection = Connection(scope, receive, send, self._connections)
        raw = await connection.read()
        body = _parse(raw)
        exchange = self._log.begin(scope["path"], _headers(scope), body)
        try:
            reply = self._decide(exchange, body, scope, len(raw))
            exchange.answer = reply.answer
            exchange.status = None if reply.ending in ("reset", "hang") else reply.status
            exchange.client_left = not await connection.perform(reply)
        finally:
            self._log.finish(exchange)

    def _decide(
        self, exchange: Exchange, body: dict[str, Any] | None, scope: Scope, size: int
    ) -> Reply:
        if body is None:
            return Reply.json(wire.error_body("The body is not a JSON object."), status=400)
        request = ChatRequest(body, scope["path_params"].get("deployment", ""))
        refusal = self.profile.refuse({**body, "model": request.model})
        if refusal is not None:
            exchange.refused_by = refusal.rule
            return Reply.json(refusal.body, status=refusal.status)
        decision = self.player.decide(request, number=exchange.number, size=size)
        exchange.rule = decision.rule
        if decision.rule is None:
            self._log.miss(exchange)
        return decision.reply


class _Raw:
    """Chat completions as an ASGI application of its own, so that faults reach the connection."""

    def __init__(self, application: ModelApplication) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application.chat(scope, receive, send)


async def _list_models(_: Request) -> JSONResponse:
    return JSONResponse(wire.models("scripted"))


async def _embed(request: Request) -> JSONResponse:
    body = _parse(await request.body())
    if body is None:
        return JSONResponse(wire.error_body("The body is not a JSON object."), status_code=400)
    return JSONResponse(embeddings(body))


def _headers(scope: Scope) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        body = json.loads(raw)
    except ValueError:
        return None
    return body if isinstance(body, dict) else None
