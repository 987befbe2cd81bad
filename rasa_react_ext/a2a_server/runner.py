"""Runs turns: one after the other in a context, each leased, timed and cancellable.

The runner owns an asyncio task for each turn; a caller that goes away does not stop
one. It renews the leases of its turns and watches for cancels asked for elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import structlog

from rasa_react_ext.a2a_server.identity import new_id
from rasa_react_ext.a2a_server.live import Live
from rasa_react_ext.a2a_server.port import Assistant, Result, Turn
from rasa_react_ext.a2a_server.record import Record
from rasa_react_ext.a2a_server.report import Report
from rasa_react_ext.a2a_wire import State
from rasa_react_ext.store.served_task import ServedTasks, StoredTask, TurnEnd
from rasa_react_ext.store.served_turn import Claim, ServedTurns

__all__ = ["Runner"]

_log = structlog.get_logger()
POLL_SECONDS = 0.4
STORED_EVERY_SECONDS = 0.25
"""How often what a running turn has shown is stored, for those who look elsewhere."""
LINE_SECONDS = 0.1
TOKEN_GRACE_SECONDS = 0.3
STOP_SECONDS = 2.0
LEAVE_SECONDS = 5.0

Work = Callable[[Record], Awaitable[Result | None]]


class Runner:
    """The turns of this process."""

    def __init__(
        self,
        tasks: ServedTasks,
        turns: ServedTurns,
        assistant: Assistant,
        *,
        lease_seconds: float,
        timeout_seconds: float | None,
        remembered_seconds: float,
    ) -> None:
        self.name = new_id()
        self.accepting = True
        self.lease_seconds = lease_seconds
        self.remembered_seconds = remembered_seconds
        self.counts = {"started": 0, "failed": 0, "cancelled": 0, "lost": 0}
        self._tasks = tasks
        self._turns = turns
        self._assistant = assistant
        self._timeout = timeout_seconds
        self._live: dict[int, Live] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._freed = asyncio.Event()

    @property
    def live(self) -> int:
        """How many turns run or wait in this process."""
        return len(self._live)

    @contextlib.asynccontextmanager
    async def serving(self, grace_seconds: float = 10.0) -> AsyncGenerator[None]:
        """Watch over turns while the block runs, then let them end.

        Args:
            grace_seconds: How long running turns may go on after the block.
        """
        watch = asyncio.create_task(self._watch(), name=f"a2a leases of {self.name}")
        try:
            yield
        finally:
            self.accepting = False
            try:
                await self._drain(grace_seconds)
            finally:
                watch.cancel()
                await asyncio.wait([watch])

    def start(
        self,
        turn: Turn,
        claim: Claim,
        hear: Callable[[Record], None],
        known: StoredTask | None,
    ) -> Live:
        """Run a claimed turn.

        Args:
            turn: What to answer.
            claim: The claim.
            hear: Notes in the task what the caller said.
            known: The task, where this turn made it.
        """

        async def work(record: Record) -> Result | None:
            hear(record)
            await record.tell(State.WORKING)
            return await self._assistant.run(turn, Report(record, streaming=turn.streaming))

        return self._begin(Live(turn, claim.turn_id, alone=claim.alone, known=known), work)

    def start_leave(self, turn: Turn, turn_id: int) -> Live:
        """Cancel a task that no turn is running of."""
        return self._begin(Live(turn, turn_id), lambda record: self._leave(turn))

    def start_report(
        self, turn: Turn, turn_id: int, said: Sequence[str], result: Result | None
    ) -> Live:
        """Report on a task what its background work has said.

        Args:
            turn: The claimed turn.
            turn_id: The claim.
            said: What was said, in order.
            result: How it left the task; None if the work goes on.
        """

        async def work(record: Record) -> Result | None:
            report = Report(record, streaming=False)
            for text in said:
                await report.remark(text)
            return result

        return self._begin(Live(turn, turn_id), work)

    def cancel(self, task_id: str) -> None:
        """Stop the turns of a task that run here; the same on all others is asked in the store."""
        for live in list(self._live.values()):
            if live.turn.task_id == task_id:
                live.stop("cancel_requested")

    def end_of(self, turn_id: int) -> TurnEnd:
        """The end of one of this process's turns."""
        return TurnEnd(
            turn_id=turn_id,
            runner=self.name,
            outcome=b"",
            expires_at=time.time() + self.remembered_seconds,
        )

    def live_of(self, task_id: str) -> Live | None:
        """The turn of a task that runs here, the first accepted."""
        return next((live for live in self._live.values() if live.turn.task_id == task_id), None)

    def _begin(self, live: Live, work: Work) -> Live:
        self._live[live.turn_id] = live
        self.counts["started"] += 1
        task = asyncio.create_task(self._drive(live, work), name=f"a2a turn {live.turn_id}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return live

    async def _drive(self, live: Live, work: Work) -> None:
        try:
            await self._drive_to_end(live, work)
        except Exception:  # noqa: BLE001 - logged; nobody waits for this task's error
            # The lease runs out, and then the task counts as failed.
            self.counts["failed"] += 1
            _log.exception(
                "rasa_react_ext.a2a_server.turn_lost",
                task_id=live.turn.task_id,
                event_info="A turn could not be ended; its task fails when the lease runs out.",
            )
        finally:
            self._live.pop(live.turn_id, None)
            live.close()
            freed, self._freed = self._freed, asyncio.Event()
            freed.set()

    async def _drive_to_end(self, live: Live, work: Work) -> None:
        if not live.alone:
            await self._wait_in_line(live)
        stored = live.known if live.alone else None
        if stored is None or live.stopping.is_set():
            stored = await self._tasks.get(live.turn.task_id)
        if stored is None or stored.ended or live.reason == "lease_lost":
            body = b"" if stored is None else stored.body
            await self._drop(live, body)
            return
        if live.reason == "cancel_requested" and stored.state != State.SUBMITTED.value:
            await self._wait_in_line(live, heed=False)
        record = Record(self._tasks, stored)
        live.open(record)
        if not live.alone:
            await self._close_others(live)
        try:
            result = await self._outcome(live, record, work)
        except Exception:  # noqa: BLE001 - whatever breaks a turn fails its task
            self.counts["failed"] += 1
            _log.exception(
                "rasa_react_ext.a2a_server.turn_failed",
                task_id=live.turn.task_id,
                event_info="The assistant could not answer; the task has failed.",
            )
            result = _failed("internal_error")
        if result is None and live.reason == "lease_lost":
            # Another has ended the turn and the task; what is known here is out of date.
            self.counts["lost"] += 1
            record.lost = True
            return
        if result is None:
            await record.flush()
            await self._drop(live, record.task.SerializeToString())
            return
        report = Report(record, streaming=False)
        if not await record.status(
            result.state, report.final(result), end=self.end_of(live.turn_id)
        ):
            self.counts["lost"] += 1
            now = await self._tasks.get(live.turn.task_id)
            await self._drop(live, b"" if now is None else now.body)

    async def _drop(self, live: Live, body: bytes) -> None:
        live.outcome = body
        await self._turns.drop(
            live.turn_id, body, runner=self.name, kept_seconds=self.remembered_seconds
        )

    async def _wait_in_line(self, live: Live, *, heed: bool = True) -> None:
        """Wait until all earlier turns of the context have ended, or this one is to end."""
        while not (heed and live.stopping.is_set()):
            freed = self._freed
            if await self._turns.is_first(live.turn_id, live.turn.caller, live.turn.context_id):
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(freed.wait(), LINE_SECONDS)

    async def _close_others(self, live: Live) -> None:
        """Tasks of the context that wait for the user's reply, which came for another task."""
        waiting = [State.INPUT_REQUIRED.value, State.AUTH_REQUIRED.value]
        for task_id in await self._tasks.parked(
            live.turn.caller, live.turn.context_id, states=waiting
        ):
            stored = await self._tasks.get(task_id)
            if task_id != live.turn.task_id and stored is not None and not stored.ended:
                reason = {"reason": "continued", "continued_by": live.turn.task_id}
                record = Record(self._tasks, stored)
                message = Report(record, streaming=False).final(
                    Result(state=State.CANCELED, data=reason)
                )
                await record.status(State.CANCELED, message)

    async def _outcome(self, live: Live, record: Record, work: Work) -> Result | None:
        """What comes of the work, or of what stopped it."""
        if live.stopping.is_set() and record.state is State.SUBMITTED:
            return _unstarted(live.reason)
        if live.stopping.is_set():
            return await self._stopped(live, None)
        child = asyncio.create_task(_call(work, record))
        stop = asyncio.create_task(live.stopping.wait())
        first = {child, stop}
        try:
            await self._first_of(first, record)
            if child.done():
                return child.result()
            live.stop("task_timeout")
            return await self._stopped(live, child)
        finally:
            stop.cancel()
            child.cancel()
            await asyncio.wait({stop, child}, timeout=STOP_SECONDS)

    async def _first_of(self, tasks: set[asyncio.Task[Any]], record: Record) -> None:
        """Wait until one is done or the turn's time is over; store what is shown meanwhile."""
        until = time.monotonic() + (math.inf if self._timeout is None else self._timeout)
        failed = False
        while (left := until - time.monotonic()) > 0:
            done, _ = await asyncio.wait(
                tasks,
                timeout=min(STORED_EVERY_SECONDS, left),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if done:
                return
            try:
                await record.flush()
            except Exception:  # noqa: BLE001 - told once; the end of the turn stores it too
                if not failed:
                    _log.exception(
                        "rasa_react_ext.a2a_server.store_unreachable",
                        task_id=record.task.id,
                        event_info="What a running turn said could not be stored; trying again.",
                    )
                failed = True

    async def _stopped(
        self, live: Live, child: asyncio.Task[Result | None] | None
    ) -> Result | None:
        if child is not None:
            ended = await self._halt(live, child)
            if ended is not None and ended.state.ended:
                return ended
        if live.reason == "lease_lost":
            return None
        if live.reason == "shutdown":
            return _failed("server_stopped")
        self.counts["cancelled"] += 1
        result = await self._leave(live.turn)
        return Result(
            state=State.CANCELED, text=result.text, data={"reason": live.reason, **result.data}
        )

    async def _halt(self, live: Live, child: asyncio.Task[Result | None]) -> Result | None:
        """Stop the work: first by asking, then by cancelling; the result if it came to one."""
        if live.reason != "shutdown":
            self._assistant.interrupt(live.turn.conversation)
            await asyncio.wait({child}, timeout=TOKEN_GRACE_SECONDS)
        if not child.done():
            child.cancel()
            await asyncio.wait({child}, timeout=STOP_SECONDS)
        if child.done() and not child.cancelled() and child.exception() is None:
            return child.result()
        return None

    async def _leave(self, turn: Turn) -> Result:
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                return await self._assistant.leave(turn)
        except Exception:  # noqa: BLE001 - the task is canceled all the same
            _log.exception(
                "rasa_react_ext.a2a_server.leave_failed",
                task_id=turn.task_id,
                event_info="The task is canceled, but its flow could not be.",
            )
            return Result(state=State.CANCELED)

    async def _watch(self) -> None:
        """Renew leases, and look for cancels and for turns taken from us."""
        renewed = time.monotonic()
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if not self._live:
                renewed = time.monotonic()
                continue
            try:
                if time.monotonic() - renewed > self.lease_seconds / 4:
                    await self._turns.renew(self.name, self.lease_seconds)
                    renewed = time.monotonic()
                await self._heed()
            except Exception:  # noqa: BLE001 - the store may be back at the next look
                _log.exception(
                    "rasa_react_ext.a2a_server.store_unreachable",
                    event_info="Leases of running turns could not be renewed; trying again.",
                )

    async def _heed(self) -> None:
        mine = dict(self._live)
        still_open, cancelled = await self._turns.signals(mine.keys())
        for turn_id, live in mine.items():
            if turn_id not in still_open and turn_id in self._live:
                live.stop("lease_lost")
            elif live.turn.task_id in cancelled:
                live.stop("cancel_requested")

    async def _drain(self, grace_seconds: float) -> None:
        if self._running:
            await asyncio.wait(set(self._running), timeout=grace_seconds)
        for live in self._live.values():
            live.stop("shutdown")
        if self._running:
            await asyncio.wait(set(self._running), timeout=STOP_SECONDS * 2)
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(set(self._running))


def _failed(error_type: str) -> Result:
    return Result(state=State.FAILED, data={"error_type": error_type})


def _unstarted(reason: str) -> Result | None:
    """A turn that ends before the dialogue heard of it."""
    if reason == "shutdown":
        return _failed("server_stopped")
    return None if reason == "lease_lost" else Result(state=State.CANCELED, data={"reason": reason})


async def _call(work: Work, record: Record) -> Result | None:
    return await work(record)
