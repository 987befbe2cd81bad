"""One remote agent for the whole process; what belongs to an event loop is in its lane."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from rasa_react_ext.a2a_client.exchange import Exchange
from rasa_react_ext.a2a_client.fault import read_fault
from rasa_react_ext.a2a_client.lane import Lane
from rasa_react_ext.a2a_client.spec import AgentSpec, Patience, PushTarget
from rasa_react_ext.a2a_client.update import Update
from rasa_react_ext.a2a_wire import AgentCard, Message, Task
from rasa_react_ext.errors import ConnectionLostError, PeerError

__all__ = ["Connection"]

CANCEL_SECONDS = 5.0
CHECK_SECONDS = 10.0
TURN_ATTEMPTS = 2


class Connection:
    """A remote agent, for any number of conversations at once.

    Usable from several event loops one after the other; whoever is the last to use it in
    a loop closes it there.
    """

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self._lanes: dict[asyncio.AbstractEventLoop, Lane] = {}

    async def card(self, *, attempts: int = TURN_ATTEMPTS) -> AgentCard:
        """The agent's card, read if need be.

        Raises:
            ConfigurationError: The card file is missing or unusable.
            ConnectionLostError: The agent could not be reached in `attempts` attempts.
            PeerError: It gave no usable card.
        """
        return await self._lane().card(attempts=attempts)

    async def check(self) -> AgentCard:
        """Prove that the agent can be reached, without a task: read its card anew.

        Raises:
            ConfigurationError: The card file is missing or unusable.
            PeerError: The agent cannot be reached, or refuses our credentials.
        """
        lane = self._lane()
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                card = await lane.card(newer_than=time.monotonic())
                if card.capabilities.extended_agent_card and self.spec.make_auth is not None:
                    await self._check_credentials(lane)
        except TimeoutError as error:
            raise ConnectionLostError(
                self.spec.name,
                f"Agent {self.spec.name!r} did not answer within {CHECK_SECONDS:g} s.",
            ) from error
        return card

    async def _check_credentials(self, lane: Lane) -> None:
        """Read what only known clients may read; any answer but a refusal is healthy."""
        try:
            await lane.extended_card()
        except PeerError:
            raise
        except Exception as error:
            fault = read_fault(error)
            if fault.status in {401, 403}:
                raise PeerError(
                    self.spec.name,
                    f"Agent {self.spec.name!r} refuses our credentials ({fault.text}). "
                    "Check auth in its config.yml.",
                ) from error

    async def send(
        self, message: Message, patience: Patience, *, push: PushTarget | None = None
    ) -> AsyncGenerator[Update]:
        """Send a message once and follow it until the agent stops.

        Args:
            message: What to send.
            patience: How long that may take.
            push: Where the agent reports by itself; the answer then ends as soon as the
                task runs.

        Raises:
            ConnectionLostError: The agent surely did not get the message.
            OutcomeUnknownError: It was sent, and the agent does not tell what became of it.
            PeerError: The agent refused it, or has forgotten the task.
            LimitError: The time is over; the task may still run.
            ConfigurationError: The card file is missing or unusable.
        """
        exchange = Exchange(self.spec, self._lane(), message, patience, push)
        async with aclosing(exchange.updates()) as updates:
            async for update in updates:
                yield update

    async def task(self, task_id: str) -> Task | None:
        """A task as it is now; None if the agent does not know it.

        Raises:
            PeerError: The agent could not be asked.
            ConfigurationError: The card file is missing or unusable.
        """
        lane = self._lane()
        await lane.card(attempts=1)
        try:
            async with asyncio.timeout(self.spec.timeout_seconds):
                return await lane.task(task_id)
        except TimeoutError as error:
            raise PeerError(self.spec.name, "no answer in time") from error
        except PeerError:
            raise
        except Exception as error:
            fault = read_fault(error)
            if fault.gone:
                return None
            raise PeerError(self.spec.name, fault.text) from error

    async def cancel(self, task_id: str) -> bool:
        """Ask the agent to stop a task; True if it runs no longer, for whatever reason."""
        lane = self._lane()
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await lane.card(attempts=1)
                await lane.cancel(task_id)
        except TimeoutError:
            return False
        except Exception as error:  # noqa: BLE001 - whatever it is, the task was not stopped
            fault = read_fault(error)
            return fault.gone or fault.closed
        return True

    async def abandon(self, message: Message, task_id: str) -> bool:
        """Stop whatever a message began, also if its task is not known yet.

        Args:
            message: What was sent.
            task_id: Its task; empty if the agent named none.
        """
        if task_id:
            return await self.cancel(task_id)
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self.card(attempts=1)
                task = await self._lane().find_task(message.context_id, message.message_id)
        except Exception:  # noqa: BLE001 - agents without this method answer in many ways
            return False
        return task is not None and await self.cancel(task.id)

    async def aclose(self) -> None:
        """Close what the running loop has opened; the connection can be used again."""
        lane = self._lanes.pop(asyncio.get_running_loop(), None)
        if lane is not None:
            await lane.aclose()

    def _lane(self) -> Lane:
        loop = asyncio.get_running_loop()
        lane = self._lanes.get(loop)
        if lane is None:
            for closed in [other for other in self._lanes if other.is_closed()]:
                del self._lanes[closed]
            lane = self._lanes[loop] = Lane(self.spec)
        return lane
