"""Puts the server together, and its lifetime."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextvars import ContextVar

from a2a.types import AgentCard, ExtendedAgentCardNotConfiguredError, UnsupportedOperationError
from starlette.types import ASGIApp, Receive, Scope, Send

from rasa_react_ext.a2a_server.address import AddressPolicy
from rasa_react_ext.a2a_server.application import application
from rasa_react_ext.a2a_server.auth import Authenticator
from rasa_react_ext.a2a_server.card import Cards
from rasa_react_ext.a2a_server.delivery import Delivery
from rasa_react_ext.a2a_server.follow import Follower
from rasa_react_ext.a2a_server.grpc_port import grpc_serving
from rasa_react_ext.a2a_server.handler import Handler, claim_internal
from rasa_react_ext.a2a_server.intake import Intake
from rasa_react_ext.a2a_server.port import Assistant, Result
from rasa_react_ext.a2a_server.runner import Runner
from rasa_react_ext.a2a_server.seal import Seal
from rasa_react_ext.a2a_server.settings import ServerSettings
from rasa_react_ext.a2a_server.stopper import Stopper
from rasa_react_ext.a2a_server.subscription import Subscriptions
from rasa_react_ext.a2a_server.upkeep import Upkeep
from rasa_react_ext.a2a_wire import State
from rasa_react_ext.store.database import Database
from rasa_react_ext.store.served_push import ServedPushes
from rasa_react_ext.store.served_task import ServedTasks
from rasa_react_ext.store.served_turn import ServedTurns
from rasa_react_ext.store.served_upkeep import ServedUpkeep

__all__ = ["A2AService"]

_base_url: ContextVar[str] = ContextVar("base_url", default="http://localhost:5005")


class A2AService:
    """The A2A server of one process: an ASGI application and what works behind it.

    Attributes:
        settings: The channel's settings.
        handler: Serves the operations, for transports other than HTTP.
        authenticator: Finds callers, for those transports.
    """

    def __init__(self, settings: ServerSettings, database: Database, assistant: Assistant) -> None:
        """Put the server together.

        Raises:
            ConfigurationError: A file or key that the settings name does not fit.
        """
        self.settings = settings
        self._tasks = ServedTasks(database)
        self._turns = ServedTurns(database)
        self._rows = ServedUpkeep(database)
        self._pushes = ServedPushes(database)
        self._runner = Runner(
            self._tasks,
            self._turns,
            assistant,
            lease_seconds=settings.lease_seconds,
            timeout_seconds=settings.task_timeout_seconds or None,
            remembered_seconds=settings.remembered_seconds,
        )
        subscriptions, self._delivery = _pushing(settings, self._pushes)
        self._upkeep = Upkeep(self._tasks, self._turns, self._rows, settings)
        self._stopper = Stopper(self._tasks, self._turns, self._runner)
        self._follower = Follower(self._tasks, self._runner, self._upkeep)
        self._cards = Cards(settings, assistant)
        self.authenticator = Authenticator(settings.auth)
        self.handler = Handler(
            tasks=self._tasks,
            turns=self._turns,
            runner=self._runner,
            intake=Intake(
                self._tasks,
                self._turns,
                self._runner,
                subscriptions,
                max_contexts=settings.max_contexts or None,
                raw_sender_ids=settings.raw_sender_ids,
            ),
            subscriptions=subscriptions,
            follower=self._follower,
            upkeep=self._upkeep,
            extended_card=self._extended_card,
        )
        self.app: ASGIApp = _Based(
            application(settings, self.handler, self._cards, self.authenticator, self.counts)
        )

    @contextlib.asynccontextmanager
    async def serving(self, grace_seconds: float = 10.0) -> AsyncGenerator[None]:
        """Run what works behind the application while the block runs.

        Args:
            grace_seconds: How long running turns may go on after the block.
        """
        workers = [
            asyncio.create_task(self._upkeep.run(), name="a2a upkeep"),
            asyncio.create_task(self._stopper.run(), name="a2a cancels"),
        ]
        if self.settings.push_notifications_enabled:
            workers.append(asyncio.create_task(self._delivery.run(), name="a2a pushes"))
        try:
            async with (
                self._runner.serving(grace_seconds),
                grpc_serving(self.settings, self.handler, self.authenticator),
            ):
                try:
                    yield
                finally:
                    self._follower.close()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    async def report(
        self, conversation: str, said: Sequence[str], result: Result | None = None
    ) -> bool:
        """Report what a dialogue said by itself, as news of its open task.

        Args:
            conversation: Id of the dialogue.
            said: What was said, in order.
            result: How it left the task; None if its work goes on.

        Returns:
            Whether the dialogue has an open task.
        """
        for state in (State.WORKING, State.INPUT_REQUIRED):
            stored = await self._tasks.of_conversation(conversation, state.value)
            if stored is None:
                continue
            turn, turn_id = await claim_internal(self._turns, self._runner, stored, "report")
            if turn_id:
                await self._runner.start_report(turn, turn_id, said, result).result()
                return True
        return False

    async def counts(self) -> Mapping[str, float]:
        """What is open, and what this process has done."""
        counts: dict[str, float] = {
            "running_here": self._runner.live,
            "asyncio_tasks": sum(map(_is_ours, asyncio.all_tasks())),
        }
        counts |= {f"turns_{name}": value for name, value in self._runner.counts.items()}
        counts |= {f"pushes_{name}": value for name, value in self._delivery.counts.items()}
        counts |= {f"open_{name}": value for name, value in (await self._rows.counts()).items()}
        counts |= {f"outbox_{name}": n for name, n in (await self._pushes.waiting()).items()}
        return counts

    async def _extended_card(self) -> AgentCard:
        if self.settings.auth is None:
            raise UnsupportedOperationError("there is no extended card")
        card = await self._cards.extended(_base_url.get())
        if not card.name:
            raise ExtendedAgentCardNotConfiguredError
        return card


def _is_ours(task: asyncio.Task[object]) -> bool:
    """Whether a task runs code of this package; the host keeps a timer for each dialogue."""
    code = getattr(task.get_coro(), "cr_code", None)
    return "rasa_react_ext" in getattr(code, "co_filename", "")


def _pushing(settings: ServerSettings, pushes: ServedPushes) -> tuple[Subscriptions, Delivery]:
    policy = AddressPolicy(
        settings.push_notification_allowed_hosts, private=settings.push_allow_private_addresses
    )
    key = settings.encryption_key
    seal = Seal(None if key is None else key.get_secret_value())
    enabled = settings.push_notifications_enabled
    subscriptions = Subscriptions(pushes, policy, seal, enabled=enabled)
    return subscriptions, Delivery(pushes, subscriptions, policy, attempts=settings.push_attempts)


class _Based:
    """Notes where each request came to, for the card."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http":
            host = next((v for k, v in scope["headers"] if k == b"host"), b"localhost:5005")
            _base_url.set(f"{scope.get('scheme', 'http')}://{host.decode('latin-1')}")
        await self._app(scope, receive, send)
