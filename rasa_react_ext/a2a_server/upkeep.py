"""Ends what nobody ends: turns of dead processes, tasks nobody answers, rows of old ones."""

from __future__ import annotations

import asyncio
import time

import structlog

from rasa_react_ext.a2a_server.record import Record, agent_message
from rasa_react_ext.a2a_server.settings import ServerSettings
from rasa_react_ext.a2a_wire import State
from rasa_react_ext.store.served_task import ServedTasks, TurnEnd
from rasa_react_ext.store.served_turn import LostTurn, ServedTurns
from rasa_react_ext.store.served_upkeep import ServedUpkeep

__all__ = ["Upkeep"]

_log = structlog.get_logger()
ROWS_EVERY_SECONDS = 60.0
EVENTS_KEPT_SECONDS = 3600.0


class Upkeep:
    """Upkeep of one store; any number of processes may do it at once."""

    def __init__(
        self,
        tasks: ServedTasks,
        turns: ServedTurns,
        rows: ServedUpkeep,
        settings: ServerSettings,
    ) -> None:
        self._tasks = tasks
        self._turns = turns
        self._rows = rows
        self._settings = settings

    async def run(self) -> None:
        """Keep the store in order until cancelled."""
        rows_at = time.monotonic()
        while True:
            try:
                await self.fail_lost()
                if time.monotonic() >= rows_at:
                    rows_at = time.monotonic() + ROWS_EVERY_SECONDS
                    await self._end_stale()
                    await self._rows.forget(float(self._settings.task_retention_seconds))
                    await self._rows.forget_events(EVENTS_KEPT_SECONDS)
            except Exception:  # noqa: BLE001 - the store may be back at the next look
                _log.exception(
                    "rasa_react_ext.a2a_server.upkeep_failed",
                    event_info="The store could not be kept in order; trying again.",
                )
            await asyncio.sleep(self._settings.lease_seconds / 4)

    async def fail_lost(self, task_id: str | None = None) -> bool:
        """Fail tasks whose process has died, one or all; whether there was any."""
        lost = await self._turns.lost(task_id)
        for turn in lost:
            await self._fail(turn)
        return bool(lost)

    async def _fail(self, lost: LostTurn) -> None:
        stored = await self._tasks.get(lost.task_id)
        kept = self._settings.remembered_seconds
        if stored is None or stored.ended:
            body = b"" if stored is None else stored.body
            await self._turns.drop(lost.turn_id, body, runner="", kept_seconds=kept)
            return
        end = TurnEnd(turn_id=lost.turn_id, runner="", outcome=b"", expires_at=time.time() + kept)
        if await self._end(lost.task_id, State.FAILED, {"error_type": "worker_lost"}, end):
            _log.warning(
                "rasa_react_ext.a2a_server.worker_lost",
                task_id=lost.task_id,
                event_info="The process that ran this task is silent; the task has failed.",
            )

    async def _end_stale(self) -> None:
        now = time.time()
        failed = {"error_type": "background_work_timeout"}
        for task_id in await self._rows.stale(
            [State.WORKING.value], now - self._settings.background_ttl_seconds
        ):
            await self._end(task_id, State.FAILED, failed)
        if self._settings.input_required_ttl_seconds is None:
            return
        expired = now - self._settings.input_required_ttl_seconds
        for task_id in await self._rows.stale([State.INPUT_REQUIRED.value], expired):
            await self._end(task_id, State.CANCELED, {"reason": "input_required_ttl"})

    async def _end(
        self, task_id: str, state: State, data: dict[str, str], end: TurnEnd | None = None
    ) -> bool:
        stored = await self._tasks.get(task_id)
        if stored is None or stored.ended:
            return False
        record = Record(self._tasks, stored)
        message = agent_message(record.task, "", {"state": state.value, **data})
        return await record.status(state, message, end=end)
