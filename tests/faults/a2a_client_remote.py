"""A remote agent whose reports come out of order, twice, late, or never.

Each task says that it works, brings a result in two pieces and ends; its reports are kept
until the end, shuffled, doubled and sent until they are acknowledged.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from a2a.helpers import new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
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
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict
from starlette.applications import Starlette

from tests.mcp_pool.mcp_server import Served, free_port

__all__ = ["LoadRemote"]

ATTEMPTS = 60


@dataclass
class LoadRemote:
    """The agent, and what became of its reports.

    Attributes:
        done: Counts: `tasks`, `cancelled`, `pushed` (acknowledged reports), `withheld`.
        targets: Where and with which secret reports about each task go.
        lost_share: Share of tasks that report nothing.
        seconds: Longest time a task takes.
    """

    seconds: float = 8.0
    lost_share: float = 0.05
    done: Counter[str] = field(default_factory=Counter)
    targets: dict[str, TaskPushNotificationConfig] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    port: int = field(default_factory=free_port)
    served: Served | None = None

    def start(self) -> None:
        """Serve in a thread."""
        self.served = Served(self._app, "")
        self.port = self.served.port
        self.served.start()

    def stop(self) -> None:
        """Stop serving."""
        assert self.served is not None
        self.served.stop()

    @property
    def card_url(self) -> str:
        """Address of the card."""
        return f"http://127.0.0.1:{self.port}/.well-known/agent-card.json"

    def _app(self) -> Any:
        card = AgentCard(
            name="load",
            version="1",
            supported_interfaces=[
                AgentInterface(
                    url=f"http://127.0.0.1:{self.port}/rpc",
                    protocol_binding="JSONRPC",
                    protocol_version="1.0",
                )
            ],
            capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        )
        configs = InMemoryPushNotificationConfigStore()
        http = httpx.AsyncClient(trust_env=False, timeout=10)
        sender = _Careless(self, configs, http)
        handler = DefaultRequestHandler(
            agent_executor=_Executor(self),
            task_store=InMemoryTaskStore(),
            agent_card=card,
            push_config_store=configs,
            push_sender=sender,
        )

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            yield
            await sender.aclose()
            await http.aclose()

        routes = [*create_jsonrpc_routes(handler, "/rpc"), *create_agent_card_routes(card)]
        return Starlette(routes=routes, lifespan=lifespan)


class _Executor(AgentExecutor):
    def __init__(self, remote: LoadRemote) -> None:
        self._remote = remote

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Find the result that the message asks for."""
        self._remote.done["tasks"] += 1
        number = context.get_user_input().rsplit(" ", 1)[-1]
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        await event_queue.enqueue_event(
            Task(
                id=updater.task_id,
                context_id=updater.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[context.message],
            )
        )
        await updater.start_work(updater.new_agent_message([new_text_part(f"Looking {number}.")]))
        await asyncio.sleep(random.uniform(0.5, self._remote.seconds))
        await updater.add_artifact([new_text_part("Result ")], artifact_id="a")
        await updater.add_artifact([new_text_part(number)], artifact_id="a", append=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop."""
        self._remote.done["cancelled"] += 1
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


class _Careless(PushNotificationSender):
    """Keeps a task's reports to its end, then sends them in any order, some twice."""

    def __init__(
        self,
        remote: LoadRemote,
        configs: InMemoryPushNotificationConfigStore,
        http: httpx.AsyncClient,
    ) -> None:
        self._remote = remote
        self._configs = configs
        self._http = http
        self._kept: dict[str, list[dict[str, Any]]] = {}
        self._sending: set[asyncio.Task[None]] = set()

    async def send_notification(self, task_id: str, event: PushNotificationEvent) -> None:
        """Keep, or send what was kept."""
        configs = await self._configs.get_info_for_dispatch(task_id)
        if not configs:
            return
        self._remote.targets[task_id] = configs[-1]
        response = to_stream_response(event)
        body = MessageToDict(response)
        kept = self._kept.setdefault(task_id, [])
        kept.append(body)
        state = body.get("statusUpdate", body.get("task", {})).get("status", {}).get("state")
        if state not in {"TASK_STATE_COMPLETED", "TASK_STATE_CANCELED"}:
            if len(kept) == 2 and random.random() < 0.5:
                self._start(configs[-1], [body])
            return
        if random.random() < self._remote.lost_share:
            self._remote.done["withheld"] += 1
            return
        bodies = [*kept, *random.sample(kept, k=random.randint(1, len(kept)))]
        random.shuffle(bodies)
        self._start(configs[-1], bodies)

    def _start(self, config: TaskPushNotificationConfig, bodies: list[dict[str, Any]]) -> None:
        task = asyncio.get_running_loop().create_task(self._send(config, bodies))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(self, config: TaskPushNotificationConfig, bodies: list[dict[str, Any]]) -> None:
        headers = {"X-A2A-Notification-Token": config.token}
        for body in bodies:
            for _ in range(ATTEMPTS):
                try:
                    answer = await self._http.post(config.url, json=body, headers=headers)
                except httpx.HTTPError:
                    await asyncio.sleep(0.5)
                    continue
                self._remote.statuses[answer.status_code] += 1
                if answer.status_code < 500:
                    self._remote.done["pushed"] += 1
                    break
                await asyncio.sleep(0.5)

    async def aclose(self) -> None:
        """Stop sending."""
        for task in list(self._sending):
            task.cancel()
        if self._sending:
            await asyncio.wait(self._sending)
