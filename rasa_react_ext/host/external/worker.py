"""Works off the inbox: whichever process gets a report's task applies its reports in order."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING
from uuid import uuid4

import structlog

from rasa_react_ext.a2a_wire import Assembly, State, Task, message_text, read_push, read_state
from rasa_react_ext.a2a_wire.clean import clean
from rasa_react_ext.errors import ExtensionError, PeerError
from rasa_react_ext.host import process
from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.apply import Applied, apply_outcome, tell
from rasa_react_ext.host.external.desk import Desk
from rasa_react_ext.host.external.follow_up import follow_up
from rasa_react_ext.host.external.observed import observed_after_turn
from rasa_react_ext.host.external.reply import full_reply
from rasa_react_ext.host.external.watch import agent_named, end_tasks
from rasa_react_ext.store import Inbox, RemoteTask, Report

if TYPE_CHECKING:
    from rasa_react_ext.host.external.agent import ExternalAgent
    from rasa_react_ext.host.observe.external import ExternalWatch

__all__ = ["Worker"]

AT_ONCE = 8
LEASE_SECONDS = 15.0
LOOK_SECONDS = 1.0
# What comes in a burst is looked for together.
GATHER_SECONDS = 0.05
FINISH_SECONDS = 10.0
CONFIRM_PAUSES = (0.0, 0.2, 1.0)
_log = structlog.get_logger()


class Worker:
    """One per process; started and stopped by the channel."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._name = uuid4().hex
        self._wake = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._stopping = False

    def wake(self) -> None:
        """Something has come in."""
        self._wake.set()

    async def run(self) -> None:
        """Work until told to stop; what is being applied then is finished first."""
        while not self._stopping:
            await self._look()
            await asyncio.sleep(GATHER_SECONDS)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
        if self._running:
            _, late = await asyncio.wait(self._running, timeout=FINISH_SECONDS)
            for task in late:
                task.cancel()

    def stop(self) -> None:
        """Take nothing more."""
        self._stopping = True
        self._wake.set()

    async def _look(self) -> None:
        """Begin whatever is waiting and free."""
        room = AT_ONCE - len(self._running)
        if room <= 0:
            return
        try:
            claimed = await ledger.tasks().claim(self._name, LEASE_SECONDS, room)
        except Exception as error:  # noqa: BLE001 - a store that is down is tried again
            _log.error(
                "rasa_react_ext.store.unavailable",
                error=type(error).__name__,
                event_info="Reports of remote agents cannot be read from the store now.",
            )
            return
        for row in claimed:
            task = asyncio.create_task(self._handle(row), name=f"reports of {row.key}")
            self._running.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("rasa_react_ext.external.worker_failed", error=repr(error), exc_info=error)

    async def _handle(self, row: RemoteTask) -> None:
        """Apply the unread reports of one task, keeping the lease meanwhile."""
        over = asyncio.Event()
        keeper = asyncio.create_task(self._keep(row.key, over), name=f"lease of {row.key}")
        inbox = Inbox(process.current().database)
        reports: list[Report] = []
        try:
            reports = await inbox.unread(row.key)
            fresh = await ledger.tasks().get(row.key)
            if reports and fresh is not None and not fresh.closed:
                with observed_after_turn("deliver_report", fresh) as watch:
                    watch.ended(await self._apply(fresh, reports, watch))
            if reports:
                await inbox.done(row.key, reports[-1].seq)
        except Exception as error:  # noqa: BLE001 - tried again, and kept as a dead letter in the end
            await self._failed(row, reports, error)
        finally:
            over.set()
            await asyncio.wait([keeper])
            await ledger.tasks().release(row.key, self._name)

    async def _keep(self, key: str, over: asyncio.Event) -> None:
        while not over.is_set():
            try:
                async with asyncio.timeout(LEASE_SECONDS / 3):
                    await over.wait()
            except TimeoutError:
                await ledger.tasks().extend(key, self._name, LEASE_SECONDS)

    async def _failed(self, row: RemoteTask, reports: list[Report], error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        given_up = False
        if reports:
            inbox = Inbox(process.current().database)
            given_up = await inbox.failed(row.key, reports[-1].seq, text)
        log = _log.error if given_up else _log.warning
        log(
            "rasa_react_ext.external.report_not_applied",
            agent_name=row.agent,
            task_id=row.task_id,
            error=text,
            event_info=(
                f"A report of agent {row.agent!r} could not be applied"
                + (
                    " and was put aside: rasa-react tasks replay has it applied once more."
                    if given_up
                    else " and is tried again."
                )
            ),
        )

    async def _apply(self, row: RemoteTask, reports: list[Report], watch: ExternalWatch) -> str:
        """Apply reports; what came of them, in a word."""
        agent = agent_named(row.agent)
        if agent is None:
            raise ExtensionError(f"The loaded model has no external agent {row.agent!r}.")
        task, words = self._folded(row, reports)
        if row.task_id and task.id != row.task_id:
            return "ignored"
        for said in words:
            watch.said(message_text(said.status.message))
        if words and not await self._say(agent, row, words):
            await end_tasks([row])
            return Applied.GONE.value
        if read_state(task.status.state).stopped:
            task = await _confirmed(agent, task)
        state = read_state(task.status.state)
        if state.stopped:
            watch.answered(state.value, full_reply(task), task.id)
            return await self._outcome(agent, row, task, state)
        watch.went_on(task.id)
        await ledger.tasks().update(
            row.key, snapshot=task.SerializeToString(), task_id=task.id or row.task_id
        )
        return "working"

    async def _say(self, agent: ExternalAgent, row: RemoteTask, words: list[Task]) -> bool:
        """Say what the agent said on the way; False if nobody waits for the task."""
        for task in words:
            if not await tell(self._desk, agent, row, task):
                return False
            text = message_text(task.status.message)
            await ledger.tasks().update(row.key, said=text, said_at=time.time())
        return True

    def _folded(self, row: RemoteTask, reports: list[Report]) -> tuple[Task, list[Task]]:
        """The task after these reports, and as it was whenever it said something on the way.

        What cannot be read is left out and logged.
        """
        words: list[Task] = []
        said = row.said
        assembly = Assembly()
        if row.snapshot:
            assembly.replace(Task.FromString(row.snapshot))
        elif row.task_id:
            assembly.task.id, assembly.task.context_id = row.task_id, row.context_id
        for report in reports:
            try:
                changed = assembly.add(read_push(report.body))
            except ValueError as error:
                _log.warning(
                    "rasa_react_ext.external.report_unreadable",
                    agent_name=row.agent,
                    task_id=row.task_id,
                    event_info=f"A report of agent {row.agent!r} was left out: {error}.",
                )
                continue
            text = message_text(assembly.task.status.message)
            if changed and text not in {"", said} and not assembly.state.stopped:
                said = text
                words.append(Task.FromString(assembly.task.SerializeToString()))
        return assembly.task, words

    async def _outcome(
        self, agent: ExternalAgent, row: RemoteTask, task: Task, state: State
    ) -> str:
        follows = row.held and state in {State.COMPLETED, State.INPUT_REQUIRED}
        if follows and await follow_up(self._desk, agent, row, task):
            return "followed_up"
        if text := message_text(task.status.message):
            await ledger.tasks().update(row.key, said=text, said_at=time.time())
        applied = await apply_outcome(self._desk, agent, row, task)
        if applied is Applied.GONE and not state.ended:
            await end_tasks([row])
        elif applied is Applied.GONE or (applied is Applied.DELIVERED and state.ended):
            await ledger.tasks().close(row.key)
        return applied.value


async def _confirmed(agent: ExternalAgent, task: Task) -> Task:
    """The task as its agent holds it: reports come late, twice and out of order.

    If the agent cannot be asked, what was reported holds.
    """
    known = task
    for pause in CONFIRM_PAUSES:
        await asyncio.sleep(pause)
        try:
            current = await agent.connection.task(task.id)
        except PeerError:
            return task
        if current is None:
            return task
        known = clean(current)
        if read_state(current.status.state).stopped:
            return current
    # The report told of a stop that is over: somebody has replied meanwhile.
    return known if read_state(task.status.state).waits else task
