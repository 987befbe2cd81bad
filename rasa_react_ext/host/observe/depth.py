"""OpenTelemetry gauges of what waits in the store: the same numbers from every process.

A process reads them again and again while it serves the channel they belong to; what
cannot be read is not reported.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from sqlalchemy.exc import SQLAlchemyError

from rasa_react_ext.store import Database, Inbox, RemoteTasks, ServedPushes, ServedUpkeep

__all__ = ["Gauges", "observe_on", "read_callers", "read_external"]

NAME = "rasa_react_ext"
EVERY_SECONDS = 10.0
FINISH_SECONDS = 5.0
STATE = "rasa_react_ext.state"
GAUGES: Mapping[str, tuple[str, str]] = {
    "inbox.depth": ("{report}", "Reports of external agents that wait to be applied."),
    "inbox.dead_letters": ("{report}", "Reports of external agents that were given up on."),
    "remote_tasks.open": ("{task}", "Open tasks at external agents."),
    "served_tasks.open": ("{task}", "Open tasks that are served to callers."),
    "outbox.depth": ("{push}", "Pushes to callers that wait to be delivered."),
    "outbox.dead_letters": ("{push}", "Pushes to callers that were given up on."),
}
_SERVED_STATES = ("submitted", "working", "input-required", "auth-required")

Numbers = Mapping[str, Mapping[str, int]]
"""By gauge and state; the state is empty where a gauge has none."""

_latest: dict[str, Mapping[str, int]] = {}


def observe_on(meter: Meter) -> None:
    """Make the gauges.

    Args:
        meter: Where they are reported.
    """
    for name, (unit, description) in GAUGES.items():
        meter.create_observable_gauge(
            f"{NAME}.{name}", callbacks=[_reporter(name)], unit=unit, description=description
        )


def _reporter(name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def report(_: CallbackOptions) -> list[Observation]:
        found = _latest.get(name, {})
        return [Observation(n, {STATE: state} if state else {}) for state, n in found.items()]

    return report


async def read_external(database: Database) -> Numbers:
    """What waits on the side of external agents."""
    counts = await Inbox(database).counts()
    return {
        "inbox.depth": {"": counts["unread"]},
        "inbox.dead_letters": {"": counts["dead"]},
        "remote_tasks.open": await RemoteTasks(database).count_open(),
    }


async def read_callers(database: Database) -> Numbers:
    """What waits on the side of callers."""
    pushes = await ServedPushes(database).waiting()
    tasks = await ServedUpkeep(database).counts()
    states = {name.removeprefix("tasks_"): n for name, n in tasks.items() if "tasks_" in name}
    return {
        "served_tasks.open": {**dict.fromkeys(_SERVED_STATES, 0), **states},
        "outbox.depth": {"": pushes["waiting"]},
        "outbox.dead_letters": {"": pushes["dead"]},
    }


class Gauges:
    """Keeps the numbers of one side up to date between `start` and `aclose`."""

    def __init__(
        self,
        read: Callable[[Database], Awaitable[Numbers]],
        database: Callable[[], Database],
        *,
        every_seconds: float = EVERY_SECONDS,
    ) -> None:
        """Take what to read; nothing is read yet.

        Args:
            read: One of the two above.
            database: Gives the store; another one, perhaps, after a model was loaded.
            every_seconds: Pause between two looks.
        """
        self._read = read
        self._database = database
        self._every = every_seconds
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Read from now on, in the running loop."""
        self._stopping = asyncio.Event()
        self._task = asyncio.create_task(self._run(), name="gauges of the store")

    async def aclose(self) -> None:
        """Read no more and report nothing; a look that has begun is finished first."""
        self._stopping.set()
        task, self._task = self._task, None
        if task is None:
            return
        _, late = await asyncio.wait({task}, timeout=FINISH_SECONDS)
        if late:
            task.cancel()
            await asyncio.wait(late)

    async def _run(self) -> None:
        known: list[str] = []
        try:
            while not self._stopping.is_set():
                try:
                    numbers = await self._read(self._database())
                except (SQLAlchemyError, OSError):
                    # Whoever needs the store says in the log that it is down.
                    _drop(known)
                else:
                    known = list(numbers)
                    _latest.update(numbers)
                await self._pause()
        finally:
            _drop(known)

    async def _pause(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._every):
                await self._stopping.wait()


def _drop(names: Iterable[str]) -> None:
    for name in names:
        _latest.pop(name, None)


# The API's proxy: it follows a provider that the host sets later.
observe_on(metrics.get_meter(NAME))
