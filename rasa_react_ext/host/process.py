"""What all agents of a process share: MCP sessions, the store and settings.

One object per process, made by the policy. Sessions live per event loop inside the
pool; whoever uses the agents last closes them (`release`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.mcp.answer import CALLBACKS
from rasa_react_ext.host.mcp.open_call import OpenCalls
from rasa_react_ext.host.mcp.results import ResultStores
from rasa_react_ext.host.observe.telemetry import Telemetry
from rasa_react_ext.host.observe.trace_file import TraceFile
from rasa_react_ext.host.observe.trace_path import trace_path
from rasa_react_ext.host.observe.trace_record import TraceRecord
from rasa_react_ext.host.settings import DEFAULT_STORE, Settings
from rasa_react_ext.mcp_pool import Pool, PoolEvent
from rasa_react_ext.store import Database, Journal

if TYPE_CHECKING:
    from rasa_react_ext.engine.port import Observer
    from rasa_react_ext.host.agent import ReActAgent
    from rasa_react_ext.host.observe.trace_file import TurnLabel

__all__ = ["Process", "current"]

_log = structlog.get_logger()
_LEVELS = {
    "down": "warning",
    "lost": "warning",
    "tools_refresh_failed": "warning",
    "tools_bounded": "warning",
}


class Member(Protocol):
    """An agent that uses what is shared."""

    async def close_own(self) -> None:
        """Close what the agent alone uses."""
        ...


class Process:
    """Shared resources of all agents in this process."""

    def __init__(self) -> None:
        self.pool = Pool(report=_report, callbacks=CALLBACKS)
        self.open_calls = OpenCalls()
        self.results = ResultStores()
        self._settings = Settings()
        self._database = Database(DEFAULT_STORE)
        self._replaced: list[Database] = []
        self._users: set[Member] = set()
        self._retired: list[Member] = []
        self._warming: set[asyncio.Task[Any]] = set()
        self._watchers: list[Callable[[TurnLabel], Observer]] = []
        self._told: set[tuple[str, ...]] = set()

    @property
    def database(self) -> Database:
        """The store."""
        return self._database

    @property
    def journal(self) -> Journal:
        """Journal of calls that must not run twice."""
        return Journal(self._database)

    def configure(self, settings: Settings) -> None:
        """Take the settings of a loaded model.

        Raises:
            ConfigurationError: The store is no database address, or cannot be written.
        """
        store = settings.deployment.store.get_secret_value()
        if store != self._settings.deployment.store.get_secret_value():
            self._replaced.append(self._database)
            self._database = Database(store)
        self._check_store(chosen="store" in settings.deployment.model_fields_set)
        self._settings = settings
        self._told.clear()

    def _check_store(self, *, chosen: bool) -> None:
        """A store that somebody chose must work; without the usual one, agents run on."""
        try:
            self._database.check_place()
        except ConfigurationError as error:
            if chosen:
                raise
            _log.warning(
                "rasa_react_ext.store.unavailable",
                error=error.problem,
                event_info=(
                    f"{error} Until then a tool call may run twice after a crash, and background "
                    "tasks of external agents do not work."
                ),
            )

    def watchers(self, label: TurnLabel) -> list[Observer]:
        """Who hears one agent turn, beside the tracker."""
        deployment = self._settings.deployment
        watchers: list[Observer] = [Telemetry(label.agent, label.conversation, label.model)]
        if deployment.trace_folder:
            full = deployment.trace_content == "full"
            watchers.append(TraceFile(Path(deployment.trace_folder), label, full=full))
        return [*watchers, *(watch(label) for watch in self._watchers)]

    def record(self, label: TurnLabel) -> TraceRecord | None:
        """The lines of a turn of an agent that is not ours; None when there is no record."""
        deployment = self._settings.deployment
        if not deployment.trace_folder:
            return None
        full = deployment.trace_content == "full"
        return TraceRecord(Path(deployment.trace_folder), label, full=full)

    @contextmanager
    def watched_by(self, watch: Callable[[TurnLabel], Observer]) -> Generator[None]:
        """Let somebody else hear every agent turn while the block runs.

        Args:
            watch: Makes the observer of one turn.
        """
        self._watchers.append(watch)
        try:
            yield
        finally:
            self._watchers.remove(watch)

    def trace_file(self, conversation: str) -> Path | None:
        """File of a conversation's record, or None when there is no record."""
        folder = self._settings.deployment.trace_folder
        return trace_path(Path(folder), conversation) if folder else None

    def first_time(self, *what: str) -> bool:
        """Whether something is told for the first time since a model was loaded."""
        known = what in self._told
        self._told.add(what)
        return not known

    def use(self, agent: Member) -> None:
        """Note that an agent is about to use what is shared."""
        self._users.add(agent)

    def warm(self, agent: ReActAgent) -> None:
        """Connect to an agent's servers and read their tools; in the background."""
        self.use(agent)
        self.pool.warm(agent.specs)
        task = asyncio.get_running_loop().create_task(
            agent.mcp_tools.tools(), name=f"tools of {agent.name}"
        )
        self._warming.add(task)
        task.add_done_callback(self._warming.discard)

    async def enter(self, agent: Member) -> None:
        """The same at the start of a turn; agents that a reload replaced are let go."""
        self.use(agent)
        retired, self._retired = self._retired, []
        for old in retired:
            await self.release(old)
        replaced, self._replaced = self._replaced, []
        for database in replaced:
            await database.aclose()

    def retire(self, agents: Iterable[Member]) -> None:
        """Agents that a reload has replaced: their last turn may still be running."""
        self._retired.extend(agents)

    async def release(self, agent: Member) -> None:
        """An agent is disconnected; the last one closes the sessions.

        Agents may be used again afterwards, also in another event loop.
        """
        self._users.discard(agent)
        await agent.close_own()
        if self._users.issubset(self._retired):
            await self._close()

    async def _close(self) -> None:
        """End everything; agents that a reload replaced are not waited for."""
        retired, self._retired = self._retired, []
        for old in retired:
            self._users.discard(old)
            await old.close_own()
        await self._stop_warming()
        await self.open_calls.aclose()
        await self.pool.aclose()
        for database in (*self._replaced, self._database):
            await database.aclose()
        self._replaced.clear()

    async def _stop_warming(self) -> None:
        here = asyncio.get_running_loop()
        mine = {task for task in self._warming if task.get_loop() is here}
        self._warming.clear()
        for task in mine:
            task.cancel()
        if mine:
            await asyncio.wait(mine)


def _report(event: PoolEvent) -> None:
    log = getattr(_log, _LEVELS.get(event.kind, "info"))
    log(
        f"rasa_react_ext.mcp_pool.{event.kind}",
        server_id=event.server,
        event_info=event.text,
        **event.data,
    )


_process: Process | None = None


def current() -> Process:
    """The shared resources of this process, made at first use."""
    global _process  # noqa: PLW0603 - one per process is what it is for
    if _process is None:
        _process = Process()
    return _process
