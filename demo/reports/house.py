"""How the reporting house does a task: looks, asks back once, works for a while, reports.

A task's own history tells what was ordered, so nothing is kept between two messages.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

from a2a.helpers import new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Message, Task, TaskState, TaskStatus

from demo.market.exchange import Exchange
from demo.reports.report import PERIODS, period_in, portfolio_report, risk_report

__all__ = ["Gate", "House"]

WORK_SECONDS = 5.0
PROMPT = f"Which period shall the report cover: the {' or the '.join(PERIODS)}?"


async def _work() -> None:
    await asyncio.sleep(WORK_SECONDS)


class House(AgentExecutor):
    """The agent behind the protocol.

    Args:
        exchange: The data; by default the sample's.
        pause: How long a report takes.
    """

    def __init__(
        self, exchange: Exchange | None = None, pause: Callable[[], Awaitable[None]] = _work
    ) -> None:
        self.cancelled = 0
        self._exchange = exchange or Exchange.from_folder()
        self._pause = pause

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Take an order, or the answer to the question that came back."""
        updater = TaskUpdater(event_queue, context.task_id or "", context.context_id or "")
        task = context.current_task
        if task is None:
            task = Task(
                id=updater.task_id,
                context_id=updater.context_id,
                status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED),
                history=[context.message] if context.message else [],
            )
            await event_queue.enqueue_event(task)
            found = f"The reporting house has found your {len(self._exchange.positions)} positions."
            await updater.start_work(_say(updater, found))
        # After a digression the whole conversation is sent; its last line is the answer.
        period = period_in(context.get_user_input().splitlines()[-1])
        if period is None:
            await updater.requires_input(_say(updater, PROMPT))
        else:
            await self._report(updater, period, about_risk=_is_about_risk(task))

    async def _report(self, updater: TaskUpdater, period: str, *, about_risk: bool) -> None:
        await updater.start_work(_say(updater, f"Going through the closes of the {period}."))
        await self._pause()
        report = (risk_report if about_risk else portfolio_report)(self._exchange, period)
        await updater.add_artifact([new_data_part(report.figures)], name="figures")
        await updater.complete(_say(updater, report.text))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Put a task away."""
        self.cancelled += 1
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


class Gate:
    """A pause of a report that lasts until somebody opens it, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ahead = 0
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        """Wait for the next opening; one that came before counts, too."""
        with self._lock:
            if self._ahead:
                self._ahead -= 1
                return
            opened = asyncio.get_running_loop().create_future()
            self._waiting.append(opened)
        await opened

    def open(self) -> None:
        """Let one report be finished."""
        with self._lock:
            self._waiting = [opened for opened in self._waiting if not opened.done()]
            if not self._waiting:
                self._ahead += 1
                return
            opened = self._waiting.pop(0)
        opened.get_loop().call_soon_threadsafe(_open, opened)


def _open(opened: asyncio.Future[None]) -> None:
    if not opened.done():
        opened.set_result(None)


def _is_about_risk(task: Task) -> bool:
    order = "".join(part.text for part in task.history[0].parts) if task.history else ""
    return "risk" in order.lower()


def _say(updater: TaskUpdater, text: str) -> Message:
    return updater.new_agent_message([new_text_part(text)])
