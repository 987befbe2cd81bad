"""Follows tasks: from memory where their turn runs here, else from the stored log."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from a2a.types import StreamResponse

from rasa_react_ext.a2a_server.live import Live
from rasa_react_ext.a2a_server.runner import Runner
from rasa_react_ext.a2a_server.upkeep import Upkeep
from rasa_react_ext.a2a_wire import State
from rasa_react_ext.store.served_task import ServedTasks, StoredTask

__all__ = ["Follower"]

POLL_SECONDS = 0.25


class Follower:
    """Streams of events; all end when the server stops."""

    def __init__(self, tasks: ServedTasks, runner: Runner, upkeep: Upkeep) -> None:
        self._tasks = tasks
        self._runner = runner
        self._upkeep = upkeep
        self._closing = asyncio.Event()

    def close(self) -> None:
        """End all streams soon."""
        self._closing.set()

    async def turn(self, live: Live) -> AsyncGenerator[StreamResponse]:
        """What happens in a turn, then in the background work it began."""
        last: int | None = None
        async with contextlib.aclosing(live.events()) as events:
            async for event in events:
                yield event
        stored = await self._tasks.get(live.turn.task_id)
        if stored is None or (live.record is not None and not live.record.lost):
            working = stored is not None and stored.state == State.WORKING.value
            if stored is None or not working:
                return
            last = live.record.seq if live.record is not None else stored.seq
        # Another process ended the turn, or work goes on without one.
        if last is None:
            last = live.record.stored_seq if live.record is not None else 1
        async with contextlib.aclosing(self._log(live.turn.task_id, last, paused=True)) as log:
            async for event in log:
                yield event

    async def task(self, stored: StoredTask) -> AsyncGenerator[StreamResponse]:
        """What happens to a task from the stored state on, until it ends."""
        live = self._runner.live_of(stored.task_id)
        last = stored.seq
        if live is not None and live.record is not None and live.record.first_seq <= last:
            async with contextlib.aclosing(live.record.follow(last)) as events:
                async for event in events:
                    last += 1
                    yield event
            last = min(last, live.record.stored_seq)
        async with contextlib.aclosing(self._log(stored.task_id, last, paused=False)) as log:
            async for event in log:
                yield event

    async def pause(self, task_id: str) -> None:
        """Wait until a task may have changed."""
        live = self._runner.live_of(task_id)
        waiting = self._closing.wait() if live is None else live.result()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(waiting, POLL_SECONDS / 2)

    async def _log(
        self, task_id: str, after: int, *, paused: bool
    ) -> AsyncGenerator[StreamResponse]:
        """The stored log from an event on.

        Args:
            task_id: The task.
            after: Number of the last event that is known.
            paused: Whether to end when the task waits for the user.
        """
        while not self._closing.is_set():
            stored = await self._tasks.get(task_id)
            for seq, payload in await self._tasks.events(task_id, after):
                after = seq
                event = StreamResponse()
                event.ParseFromString(payload)
                yield event
            if stored is None or stored.ended:
                return
            if paused and stored.state == State.INPUT_REQUIRED.value and after >= stored.seq:
                return
            await self._upkeep.fail_lost(task_id)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), POLL_SECONDS)
