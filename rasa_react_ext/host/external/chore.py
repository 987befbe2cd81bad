"""Small work that outlives a turn, such as telling an agent to stop; owned by the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

__all__ = ["Chores"]

FINISH_SECONDS = 5.0
_log = structlog.get_logger()


class Chores:
    """Tasks that nobody waits for, until `finish`."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Begin; what it raises is logged."""
        task = asyncio.get_running_loop().create_task(work, name=f"{name} of {self._agent}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def finish(self) -> None:
        """Wait for what the running loop has begun, and stop what takes too long."""
        here = asyncio.get_running_loop()
        mine = {task for task in self._tasks if task.get_loop() is here}
        self._tasks -= {task for task in self._tasks if task.get_loop().is_closed()}
        if not mine:
            return
        _, late = await asyncio.wait(mine, timeout=FINISH_SECONDS)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.warning(
                "rasa_react_ext.external.chore_failed",
                agent_name=self._agent,
                error=f"{type(error).__name__}: {error}",
                event_info=f"{task.get_name()} failed: {error}",
            )
