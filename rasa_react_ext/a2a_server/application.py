"""The ASGI application: the protocol's routes behind the gate, card, health and metrics."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.rest_routes import create_rest_routes
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from rasa_react_ext.a2a_server.auth import Authenticator
from rasa_react_ext.a2a_server.call import SCOPE_KEY, Call, CallBuilder
from rasa_react_ext.a2a_server.card import Cards, card_etag
from rasa_react_ext.a2a_server.event_stream import streaming_plainly
from rasa_react_ext.a2a_server.gate import Gate, RateLimit
from rasa_react_ext.a2a_server.older import RpcDispatcher, waiting
from rasa_react_ext.a2a_server.settings import ServerSettings
from rasa_react_ext.errors import HostError
from rasa_react_ext.store.database import StoreError

__all__ = ["application"]

OLDER_SEND = "/v1/message:send"
CARD_PATHS = ("/.well-known/agent-card.json", "/.well-known/agent.json")
Counts = Callable[[], Awaitable[Mapping[str, float]]]


def application(
    settings: ServerSettings,
    handler: RequestHandler,
    cards: Cards,
    authenticator: Authenticator,
    counts: Counts,
) -> ASGIApp:
    """Build the application.

    Args:
        settings: The channel's settings.
        handler: Serves the operations.
        cards: Makes the card.
        authenticator: Finds callers.
        counts: The numbers that health and metrics show.
    """
    rpc = streaming_plainly(RpcDispatcher(handler).handle_requests)
    routes: list[BaseRoute] = [
        Route("/", rpc, methods=["POST"]),
        *(Route(path, _card_route(settings, cards), methods=["GET"]) for path in CARD_PATHS),
        Route("/a2a/health", _health_route(settings, counts), methods=["GET"]),
        Route("/a2a/metrics", _metrics_route(counts), methods=["GET"]),
        *_rest(handler),
    ]
    return Gate(
        Starlette(routes=routes, exception_handlers={404: _unknown, 405: _unknown}),
        authenticator=authenticator,
        rate=RateLimit(settings.rate_limit_per_minute),
        max_body_bytes=settings.max_body_bytes,
        card_requires_auth=settings.card_requires_auth,
    )


def _rest(handler: RequestHandler) -> list[BaseRoute]:
    """The HTTP+JSON routes; without those below a tenant's name, of which there are none."""
    routes = create_rest_routes(handler, context_builder=CallBuilder(), enable_v0_3_compat=True)
    return [
        Route(route.path, streaming_plainly(_endpoint(route)), methods=list(route.methods or ()))
        for route in routes
        if isinstance(route, Route)
    ]


def _endpoint(route: Route) -> Any:
    return waiting(route.endpoint) if route.path == OLDER_SEND else route.endpoint


def _card_route(settings: ServerSettings, cards: Cards) -> Callable[[Request], Awaitable[Response]]:
    private = settings.card_requires_auth and settings.auth is not None
    caching = {"Cache-Control": "private, max-age=300" if private else "public, max-age=300"}
    if private:
        caching["Vary"] = "Authorization"

    async def card(request: Request) -> Response:
        try:
            made = await cards.public(str(request.base_url))
        except HostError as error:
            return _error(503, "UNAVAILABLE", str(error))
        body = json.dumps(agent_card_to_dict(made), ensure_ascii=False).encode()
        headers = {**caching, "ETag": card_etag(body)}
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(body, media_type="application/json", headers=headers)

    return card


def _health_route(
    settings: ServerSettings, counts: Counts
) -> Callable[[Request], Awaitable[Response]]:
    async def health(request: Request) -> Response:
        """Whether the store answers; the numbers are for callers only."""
        try:
            numbers = await counts()
        except StoreError:
            return _unreachable()
        call: Call = request.scope[SCOPE_KEY]
        shown = numbers if settings.auth is None or call.authenticated else {}
        return JSONResponse({"status": "ok", **shown})

    return health


def _metrics_route(counts: Counts) -> Callable[[Request], Awaitable[Response]]:
    async def metrics(request: Request) -> Response:
        try:
            numbers = await counts()
        except StoreError:
            return _unreachable()
        lines = [
            f"rasa_react_ext_a2a_server_{name.replace('-', '_')} {value}"
            for name, value in sorted(numbers.items())
        ]
        return PlainTextResponse("\n".join(lines) + "\n")

    return metrics


def _unreachable() -> Response:
    return JSONResponse({"status": "store unreachable"}, status_code=503)


async def _unknown(request: Request, error: Exception) -> Response:
    status = int(getattr(error, "status_code", 404))
    if status == 404:
        return _error(status, "NOT_FOUND", "no such path")
    return _error(status, "UNIMPLEMENTED", "no such method here")


def _error(status: int, name: str, message: str) -> Response:
    payload: dict[str, Any] = {"code": status, "status": name, "message": message}
    return JSONResponse({"error": payload}, status_code=status)
