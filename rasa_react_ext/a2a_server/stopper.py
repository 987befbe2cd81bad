"""Heeds cancels that were asked for in the store, of tasks that no turn is running of."""

from __future__ import annotations

import asyncio

import structlog

from rasa_react_ext.a2a_server.handler import claim_internal
from rasa_react_ext.a2a_server.runner import Runner
from rasa_react_ext.store.served_task import ServedTasks
from rasa_react_ext.store.served_turn import ServedTurns

__all__ = ["Stopper"]

_log = structlog.get_logger()
EVERY_SECONDS = 0.5


class Stopper:
    """One per process; any number of them may work on one store.

    Running turns are stopped by their own process. This is for tasks that wait, cancelled
    by `rasa-react tasks cancel` or by a process that died before it did so itself.
    """

    def __init__(self, tasks: ServedTasks, turns: ServedTurns, runner: Runner) -> None:
        self._tasks = tasks
        self._turns = turns
        self._runner = runner

    async def run(self) -> None:
        """Look for such tasks until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            try:
                await self._look()
            except Exception:  # noqa: BLE001 - the store may be back at the next look
                _log.exception(
                    "rasa_react_ext.a2a_server.cancels_unreadable",
                    event_info="Cancels could not be read from the store; trying again.",
                )

    async def _look(self) -> None:
        for stored in await self._tasks.unheeded_cancels():
            turn, turn_id = await claim_internal(self._turns, self._runner, stored, "cancel")
            if turn_id:
                self._runner.start_leave(turn, turn_id)
