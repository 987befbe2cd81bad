"""A remote agent for tests: a real a2a-sdk server on loopback that does what a message says.

It can be made to break streams, fall silent, fail single requests, demand a token, forget
its tasks and restart at the same address.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.helpers import new_data_part, new_text_message, new_text_part, new_url_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    PushNotificationEvent,
    PushNotificationSender,
    TaskUpdater,
)
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    Message,
    Task,
    TaskState,
    TaskStatus,
)
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette

from tests.a2a_client.faulty import SLOW_SECONDS, Faulty
from tests.mcp_pool.mcp_server import Asgi, Served

__all__ = ["Remote", "handler_of", "remote"]

PREAMBLE = "start trade "
"""What stands before an order when the same words start a flow of the assistant."""


@dataclass
class Remote:
    """The agent, as tests see and steer it.

    Attributes:
        done: Counts of executed orders, by first word; `cancelled` counts cancellations.
        messages: Every message that reached the agent, with the ids it was given.
        sent: The same as it was sent over JSON-RPC.
        configurations: What was asked for with each of them.
        lose_pushes: Send no reports, whatever was asked for.
        cut_after: Break a stream after this many events; once.
        silent_after: Send nothing more in a stream after this many events; once.
        silent: Answer nothing but the card.
        fail_next: HTTP statuses to answer next requests of a JSON-RPC method with.
        token: Bearer token that is demanded, if any.
        accepts: Says of the headers of a request whether they are good enough.
        certificate: Files of certificate and key; with them all is encrypted.
        own_context: Context that answers come from, whatever was asked for.
    """

    streaming: bool = True
    push: bool = False
    binding: str = "JSONRPC"
    version: str = "1.0"
    done: Counter[str] = field(default_factory=Counter)
    messages: list[Message] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    configurations: list[dict[str, Any]] = field(default_factory=list)
    lose_pushes: bool = False
    cut_after: int | None = None
    silent_after: int | None = None
    silent: bool = False
    fail_next: dict[str, list[int]] = field(default_factory=dict)
    token: str | None = None
    accepts: Callable[[Mapping[str, str]], bool] | None = None
    certificate: tuple[str, str] | None = None
    own_context: str | None = None
    card_changes: dict[str, Any] = field(default_factory=dict)
    card_paths: tuple[str, ...] = ("/.well-known/agent-card.json",)
    headers: list[dict[str, str]] = field(default_factory=list)
    served: Served | None = None
    grpc_port: int = 0
    loop: asyncio.AbstractEventLoop | None = None
    waiting: asyncio.Event | None = None
    handler: DefaultRequestHandler | None = None

    @property
    def scheme(self) -> str:
        """How it is spoken to."""
        return "https" if self.certificate else "http"

    def knows(self, headers: Mapping[str, str]) -> bool:
        """Whether a caller with these headers may come in."""
        if self.token is not None and headers.get("authorization") != f"Bearer {self.token}":
            return False
        return self.accepts is None or self.accepts(headers)

    def serve(self, app: Callable[[], Asgi]) -> Served:
        """Serve an application of its own."""
        if self.certificate is None:
            return Served(app, "")
        cert_file, key_file = self.certificate
        return Served(app, "", ssl_certfile=cert_file, ssl_keyfile=key_file)

    @property
    def url(self) -> str:
        """Base address."""
        assert self.served is not None
        return f"{self.scheme}://127.0.0.1:{self.served.port}"

    @property
    def card_url(self) -> str:
        """Address of the card."""
        return f"{self.url}/.well-known/agent-card.json"

    def card(self) -> AgentCard:
        """The card, as it is served."""
        where = f"{self.url}/rpc"
        if self.binding == "GRPC":
            where = f"127.0.0.1:{self.grpc_port}"
            where = f"https://{where}" if self.certificate else where
        return AgentCard(
            name="remote",
            description="Does what it is told.",
            version="1",
            supported_interfaces=[
                AgentInterface(
                    url=where, protocol_binding=self.binding, protocol_version=self.version
                )
            ],
            capabilities=AgentCapabilities(streaming=self.streaming, push_notifications=self.push),
            default_input_modes=["text/plain"],
            default_output_modes=["text/plain"],
        )

    def card_json(self) -> dict[str, Any]:
        """The card as JSON, with the changes a test wants."""
        return {**MessageToDict(self.card()), **self.card_changes}

    def release(self) -> None:
        """Let everything that waits go on."""
        assert self.loop is not None
        assert self.waiting is not None
        self.loop.call_soon_threadsafe(self.waiting.set)

    def app(self) -> Asgi:
        """A new application without memory."""
        pusher = httpx.AsyncClient(trust_env=False, timeout=30)
        self.handler = handler_of(self, pusher)

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            await pusher.aclose()

        routes = [
            *create_jsonrpc_routes(self.handler, "/rpc", enable_v0_3_compat=True),
            *create_rest_routes(self.handler, path_prefix="/rpc", enable_v0_3_compat=True),
            *create_agent_card_routes(self.card()),
        ]
        return Faulty(self, Starlette(routes=routes, lifespan=lifespan))


def handler_of(remote: Remote, pusher: httpx.AsyncClient) -> DefaultRequestHandler:
    configs = InMemoryPushNotificationConfigStore()
    return DefaultRequestHandler(
        agent_executor=_Worker(remote),
        task_store=InMemoryTaskStore(),
        agent_card=remote.card(),
        push_config_store=configs,
        push_sender=_Sender(remote, BasePushNotificationSender(pusher, configs)),
    )


class _Sender(PushNotificationSender):
    """Sends reports unless they are to get lost."""

    def __init__(self, remote: Remote, sender: BasePushNotificationSender) -> None:
        self._remote = remote
        self._sender = sender

    async def send_notification(self, task_id: str, event: PushNotificationEvent) -> None:
        """Send."""
        if not self._remote.lose_pushes:
            await self._sender.send_notification(task_id, event)


class _Worker(AgentExecutor):
    """Carries out the first word of a message."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Carry out."""
        remote, message = self._remote, context.message
        assert message is not None
        if remote.loop is not asyncio.get_running_loop():
            remote.loop, remote.waiting = asyncio.get_running_loop(), asyncio.Event()
        remote.messages.append(message)
        order, _, rest = _order(context.get_user_input()).partition(" ")
        remote.done[order] += 1
        if order == "message":
            where = remote.own_context or context.context_id
            answer = new_text_message(rest or "Hi there.", context_id=where)
            await event_queue.enqueue_event(answer)
            return
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        if context.current_task is None:
            await event_queue.enqueue_event(
                Task(
                    id=updater.task_id,
                    context_id=updater.context_id,
                    status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                    history=[message],
                )
            )
        elif order not in _ORDERS:
            await updater.start_work()
            await updater.complete(_say(updater, f"Got {order}."))
            return
        await _ORDERS.get(order, _echo)(remote, updater, rest)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop."""
        self._remote.done["cancelled"] += 1
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await updater.cancel()


def _order(words: str) -> str:
    """The order in a message, or in the last line of a conversation."""
    return words.splitlines()[-1].removeprefix("USER: ").removeprefix(PREAMBLE)


def _say(updater: TaskUpdater, text: str) -> Message:
    return updater.new_agent_message([new_text_part(text)])


async def _echo(_: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.complete(_say(updater, rest or "Done."))


async def _stream(_: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.start_work(_say(updater, "One moment."))
    for place, piece in enumerate(("Hello, ", "world", "!")):
        await updater.add_artifact(
            [new_text_part(piece)], artifact_id="a", append=place > 0, last_chunk=place == 2
        )
    await updater.complete()


async def _ask(_: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.start_work(_say(updater, "Let me see."))
    await updater.requires_input(_say(updater, rest or "Which currency?"))


async def _auth(_: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.requires_auth(_say(updater, "Sign in at https://example.com/login"))


async def _wait(remote: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.start_work(_say(updater, "Working on it."))
    assert remote.waiting is not None
    async with asyncio.timeout(SLOW_SECONDS):
        await remote.waiting.wait()
    await updater.complete(_say(updater, rest or "At last."))


async def _later(remote: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.start_work(_say(updater, "Working on it."))
    assert remote.waiting is not None
    async with asyncio.timeout(SLOW_SECONDS):
        await remote.waiting.wait()
    remote.waiting.clear()
    order, _, more = rest.partition(" ")
    await _ORDERS.get(order, _echo)(remote, updater, more)


async def _data(_: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.add_artifact(
        [new_data_part({"desk": rest or "north", "count": 3})], artifact_id="d", name="result"
    )
    await updater.add_artifact(
        [new_url_part("https://example.com/a.pdf", media_type="application/pdf")], artifact_id="f"
    )
    await updater.complete(_say(updater, "Here you are."))


async def _fail(_: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.failed(_say(updater, rest or "The card was declined."))


async def _reject(_: Remote, updater: TaskUpdater, rest: str) -> None:
    await updater.reject(_say(updater, "Not my department."))


async def _steps(_: Remote, updater: TaskUpdater, rest: str) -> None:
    for text in ("Step one.", "Step two.", "Step two."):
        await updater.start_work(_say(updater, text))
    await updater.complete(_say(updater, "Step two.\n\nAll done."))


_ORDERS: dict[str, Callable[..., Any]] = {
    "echo": _echo,
    "stream": _stream,
    "ask": _ask,
    "auth": _auth,
    "wait": _wait,
    "later": _later,
    "data": _data,
    "fail": _fail,
    "reject": _reject,
    "steps": _steps,
}


@contextlib.contextmanager
def remote(**settings: Any) -> Iterator[Remote]:
    """Serve an agent over HTTP."""
    agent = Remote(**settings)
    agent.served = agent.serve(agent.app)
    agent.served.start()
    try:
        yield agent
    finally:
        agent.served.stop()
