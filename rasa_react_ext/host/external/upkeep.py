"""Looks after tasks that nobody has heard of for a while.

Reports get lost, agents restart, deadlines pass, and conversations end without a word: each
open task is asked about, and cancelled when its conversation has let go of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog
from rasa.core.lock_store import LOCK_LIFETIME
from rasa.shared.core.events import ConversationInactive, SessionEnded, UserUttered

from rasa_react_ext.a2a_wire import Task, failed_task, read_state, task_body
from rasa_react_ext.errors import PeerError
from rasa_react_ext.host import process
from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.apply import free_frame
from rasa_react_ext.host.external.desk import Desk
from rasa_react_ext.host.external.watch import agent_named, end_tasks
from rasa_react_ext.store import Inbox

if TYPE_CHECKING:
    from rasa.shared.core.trackers import DialogueStateTracker

    from rasa_react_ext.host.external.agent import ExternalAgent
    from rasa_react_ext.store import RemoteTask

__all__ = ["Upkeep"]

EVERY_SECONDS = 5.0
QUIET_SECONDS = 30.0
FORGET_EVERY_SECONDS = 3600.0
_log = structlog.get_logger()


class Upkeep:
    """One per process; each quiet task is looked after by one of them at a time."""

    def __init__(
        self,
        desk: Desk,
        wake: Callable[[], None],
        *,
        every_seconds: float = EVERY_SECONDS,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._desk = desk
        self._wake = wake
        self._every = every_seconds
        self._quiet = quiet_seconds
        self._forgot_at = 0.0
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        """Look after tasks until told to stop; a round that has begun is finished first."""
        while not await self._stopped_within(self._every):
            try:
                await self.round()
            except Exception as error:  # noqa: BLE001 - the next round tries again
                _note_failure(error)

    def stop(self) -> None:
        """Begin no further round."""
        self._stopping.set()

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return False
        return True

    async def round(self) -> None:
        """Look once at every task that nobody has heard of for a while."""
        tasks = ledger.tasks()
        for row in await tasks.unheard_since(time.time() - self._quiet):
            if await tasks.claim_check(row.key, row.checked_at):
                await self._look_after_alone(row)
        if time.monotonic() - self._forgot_at > FORGET_EVERY_SECONDS:
            self._forgot_at = time.monotonic()
            await tasks.forget_old()

    async def _look_after_alone(self, row: RemoteTask) -> None:
        """Look after a task; what fails with it keeps nobody from looking after the others."""
        try:
            await self._look_after(row)
        except Exception as error:  # noqa: BLE001 - it is looked after again when it is quiet
            _note_failure(error)

    async def _look_after(self, row: RemoteTask) -> None:
        tracker = await self._desk.processor().tracker_store.retrieve(row.conversation)
        frame = ledger.frame_of(tracker.stack, row.key) if tracker is not None else None
        if tracker is None or frame is None:
            await _let_go(row)
        elif _is_over(tracker):
            if await end_tasks([row]):
                await free_frame(self._desk, row)
        elif row.background and not row.parked:
            agent = agent_named(row.agent)
            if not row.deadline:  # an operator wants it to end, whatever it reports
                await self._give_up(row)
            elif agent is not None:
                await self._ask(agent, row)
            elif row.deadline < time.time():
                await self._give_up(row)

    async def _ask(self, agent: ExternalAgent, row: RemoteTask) -> None:
        """Read the task and treat it as a report; end it when its time is over."""
        overdue = row.deadline < time.time()
        if not row.task_id and not overdue:
            return
        try:
            task = await agent.connection.task(row.task_id) if row.task_id else None
        except PeerError:
            if not overdue:
                return
            task = Task(id=row.task_id)
        if task is None:
            task = failed_task(row.task_id, row.context_id, "The agent no longer knows the task.")
        elif overdue and not read_state(task.status.state).stopped:
            await agent.connection.cancel(row.task_id)
            task = failed_task(row.task_id, row.context_id, "The agent did not finish in time.")
        new = await ledger.tasks().say(row.key, task_body(task))
        self._wake()
        inbox = Inbox(process.current().database)
        if overdue and await inbox.is_stuck(row.key, row.deadline if new else 0.0):
            await self._give_up(row)

    async def _give_up(self, row: RemoteTask) -> None:
        """End a task whose end cannot be told; its conversation goes on without it."""
        await free_frame(self._desk, row)
        await end_tasks([row])
        await ledger.tasks().close(row.key)
        _log.error(
            "rasa_react_ext.external.task_given_up",
            agent_name=row.agent,
            task_id=row.task_id,
            event_info=(
                f"A task of agent {row.agent!r} is past its time and its end could not be told: "
                "it was closed, and its conversation goes on without it."
            ),
        )


def _note_failure(error: Exception) -> None:
    _log.warning(
        "rasa_react_ext.external.upkeep_failed",
        error=f"{type(error).__name__}: {error}",
        event_info="Open tasks of remote agents could not be looked after now.",
    )


async def _let_go(row: RemoteTask) -> None:
    """Nobody waits for the task. The turn that began it may still be on its way, though."""
    if row.parked:
        await ledger.tasks().close(row.key)
    elif time.time() - row.created_at > LOCK_LIFETIME:
        await end_tasks([row])


def _is_over(tracker: DialogueStateTracker) -> bool:
    """Whether the session has ended or become inactive since the user last spoke."""
    for event in reversed(tracker.events):
        if isinstance(event, SessionEnded | ConversationInactive):
            return True
        if isinstance(event, UserUttered):
            return False
    return False
