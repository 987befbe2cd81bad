"""The reporting house as an A2A agent: its card, its routes, and its life in this process."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Generator

import httpx
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from demo.reports.house import House
from rasa_react_ext.testing.hosted import serve_application

__all__ = ["CARD_PATH", "house_app", "running_house"]

CARD_PATH = "/.well-known/agent-card.json"


def house_app(house: House) -> Starlette:
    """The web application; streams, and reports by itself where it is asked to."""
    # An assistant that has gone is no fault, yet the SDK logs it with a traceback.
    logging.getLogger("a2a.server.tasks.base_push_notification_sender").setLevel(logging.CRITICAL)
    pusher = httpx.AsyncClient(trust_env=False)
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=house,
        task_store=InMemoryTaskStore(),
        agent_card=_card(""),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(pusher, configs),
    )

    async def card(request: Request) -> JSONResponse:
        return JSONResponse(MessageToDict(_card(str(request.base_url))))

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        async with pusher:
            yield
        await handler.aclose()

    routes = [Route(CARD_PATH, card), *create_jsonrpc_routes(handler, "/")]
    return Starlette(routes=routes, lifespan=lifespan)


@contextlib.contextmanager
def running_house(house: House | None = None, port: int = 0) -> Generator[str, None, None]:
    """Run the agent in a thread of this process while the block runs.

    Args:
        house: What it does; by default the sample's, at a walking pace.
        port: Loopback port; 0 takes a free one.

    Yields:
        The URL of its card.

    Raises:
        OSError: If the port is taken.
    """
    with serve_application(house_app(house or House()), port) as url:
        yield f"{url}{CARD_PATH}"


def _card(url: str) -> AgentCard:
    return AgentCard(
        name="Reporting house",
        description="Writes reports on the portfolios of the wealth desk's customers.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain", "application/json"],
        skills=[
            AgentSkill(
                id="report",
                name="Portfolio and risk reports",
                description="Worth, change and risk of what a customer holds.",
                tags=["report"],
            )
        ],
    )
