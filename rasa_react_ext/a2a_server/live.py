"""A turn that runs or waits in this process, as those who wait for it see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from a2a.types import StreamResponse, Task

from rasa_react_ext.a2a_server.port import Turn
from rasa_react_ext.a2a_server.record import Record, parse_task
from rasa_react_ext.store.served_task import StoredTask

__all__ = ["Live"]


class Live:
    """One turn.

    Attributes:
        turn: What is to be answered.
        turn_id: The claim.
        record: The task, once it is this turn's time.
        stopping: Set when the turn is to end early.
        reason: Why: `cancel_requested`, `task_timeout`, `shutdown` or `lease_lost`.
        outcome: The task as another left it, where this turn changed nothing.
        alone: Whether nothing else was open in the context when the turn was claimed.
        known: The task as it was then, where this turn made it.
    """

    def __init__(
        self, turn: Turn, turn_id: int, *, alone: bool = False, known: StoredTask | None = None
    ) -> None:
        self.turn = turn
        self.turn_id = turn_id
        self.alone = alone
        self.known = known
        self.record: Record | None = None
        self.stopping = asyncio.Event()
        self.reason = ""
        self.outcome: bytes | None = None
        self._opened = asyncio.Event()
        self._done = asyncio.Event()

    def open(self, record: Record) -> None:
        """It is this turn's time."""
        self.record = record
        self._opened.set()

    def stop(self, reason: str) -> None:
        """End the turn early; the first reason holds."""
        if not self.reason:
            self.reason = reason
            self.stopping.set()

    def close(self) -> None:
        """The turn is over."""
        if self.record is not None:
            self.record.close()
        self._opened.set()
        self._done.set()

    async def result(self) -> Task | None:
        """The task after the turn; None where it is not known here."""
        await self._done.wait()
        if self.outcome is not None:
            return parse_task(self.outcome) if self.outcome else None
        return None if self.record is None or self.record.lost else self.record.task

    async def events(self) -> AsyncGenerator[StreamResponse]:
        """What happens in the turn."""
        await self._opened.wait()
        if self.record is not None:
            async for event in self.record.follow(self.record.first_seq):
                yield event
        await self._done.wait()
