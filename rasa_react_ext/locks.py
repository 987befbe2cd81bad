"""A lock store for more than one process: really exclusive, first come first served.

Named in endpoints.yml:

    lock_store:
      type: rasa_react_ext.locks.PostgresLockStore
      url: postgresql://user:${PASSWORD}@host/name
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from rasa.core.lock import TicketLock
from rasa.core.lock_store import LOCK_LIFETIME, LockError, LockStore
from sqlalchemy.exc import SQLAlchemyError

from rasa_react_ext.host.refusal import refusing
from rasa_react_ext.store import Database
from rasa_react_ext.store.ticket import Ticket, Tickets, check_lock_url

if TYPE_CHECKING:
    from rasa.utils.endpoints import EndpointConfig

__all__ = ["PostgresLockStore"]

FIRST_PAUSE_SECONDS = 0.01
LONGEST_PAUSE_SECONDS = 0.25
LEASE_SECONDS = 15.0
KEEP_SECONDS = 3.0


class PostgresLockStore(LockStore):
    """Conversation locks in PostgreSQL, for any number of workers and replicas.

    As with the host's own stores a lock ends after its lifetime, also while it is held. One
    whose process was killed ends after a few seconds.
    """

    def __init__(self, endpoint_config: EndpointConfig) -> None:
        """Read the `lock_store:` entry of endpoints.yml.

        Raises:
            Refusal: Its `url` is missing or names no PostgreSQL database.
        """
        url = str(endpoint_config.url or "")
        with refusing():
            check_lock_url(url)
            self._database = Database(url)
        self._tickets = Tickets(self._database)

    @asynccontextmanager
    async def lock(
        self,
        conversation_id: str,
        lock_lifetime: float = LOCK_LIFETIME,
        wait_time_in_seconds: float = 1,
    ) -> AsyncGenerator[TicketLock]:
        """Hold a conversation's lock while the block runs.

        Args:
            conversation_id: The conversation.
            lock_lifetime: Seconds for waiting and holding together.
            wait_time_in_seconds: Longest pause between two looks; shorter here.

        Raises:
            LockError: It was not this ticket's turn in time, or the database failed.
        """
        longest = min(wait_time_in_seconds, LONGEST_PAUSE_SECONDS)
        ticket = await self._taken(conversation_id, lock_lifetime)
        over = asyncio.Event()
        keeper = asyncio.create_task(self._keep(ticket, over), name=f"lock of {conversation_id}")
        try:
            await self._wait(ticket, longest)
            yield self.create_lock(conversation_id)
        finally:
            over.set()
            await self._given_back(ticket, keeper)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        await self._database.aclose()

    async def _taken(self, conversation: str, seconds: float) -> Ticket:
        try:
            return await self._tickets.take(conversation, seconds, LEASE_SECONDS)
        except (SQLAlchemyError, OSError) as error:
            raise LockError(f"Error while acquiring lock. Error:\n{error}") from error

    async def _wait(self, ticket: Ticket, longest: float) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                first = await self._tickets.is_first(ticket)
            except (SQLAlchemyError, OSError) as error:
                raise LockError(f"Error while acquiring lock. Error:\n{error}") from error
            if first:
                return
            if first is None:
                raise LockError(f"Could not acquire lock for conversation_id '{ticket.name}'.")
            await asyncio.sleep(pause)
            pause = min(pause * 2, longest)

    async def _keep(self, ticket: Ticket, over: asyncio.Event) -> None:
        """Say that this process is alive, until the lock is given back."""
        while not over.is_set():
            try:
                async with asyncio.timeout(KEEP_SECONDS):
                    await over.wait()
            except TimeoutError:
                await self._kept(ticket)

    async def _kept(self, ticket: Ticket) -> None:
        try:
            await self._tickets.keep(ticket, LEASE_SECONDS)
        except (SQLAlchemyError, OSError):
            return

    async def _given_back(self, ticket: Ticket, keeper: asyncio.Task[None]) -> None:
        """Let the next one in, also when the turn was cancelled; else the ticket expires."""
        work = asyncio.ensure_future(self._leave(ticket, keeper))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise

    async def _leave(self, ticket: Ticket, keeper: asyncio.Task[None]) -> None:
        await asyncio.wait([keeper])
        try:
            await self._tickets.give_back(ticket)
        except (SQLAlchemyError, OSError):
            return
