"""The channel that serves this assistant to other agents, over A2A on the host's port."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Dict, Optional, cast  # noqa: UP035 - the host's spelling

from rasa.core.agent import Agent
from rasa.core.channels.channel import InputChannel, OutputChannel, UserMessage
from rasa.shared.utils.io import resolve_environment_variables
from sanic import Blueprint

from rasa_react_ext.a2a_server import A2AService, ServerSettings, read_settings
from rasa_react_ext.a2a_server.settings import CHANNEL, FILE
from rasa_react_ext.a2a_server.variable import refuse_unset
from rasa_react_ext.host.a2a.assistant import HostAssistant
from rasa_react_ext.host.a2a.bridge import bridge
from rasa_react_ext.host.a2a.later_channel import LaterChannel
from rasa_react_ext.host.a2a.requirement import check_block, check_processes, check_sessions
from rasa_react_ext.host.a2a.turn_channel import CHANNEL_NAME
from rasa_react_ext.host.binding import settings_from
from rasa_react_ext.host.observe.depth import Gauges, read_callers
from rasa_react_ext.host.refusal import refusing
from rasa_react_ext.store import Database

__all__ = ["A2AServer"]


class A2AServer(InputChannel):
    """`rasa_react_ext.channels.A2AServer` in credentials.yml.

    Its keys are those of `rasa_react_ext.a2a_server.settings.ServerSettings`.
    """

    def __init__(self, settings: ServerSettings) -> None:
        """Take the settings; nothing is opened before the server starts."""
        self._settings = settings
        self._app: Any = None
        self._assistant = HostAssistant(
            self._agent,
            repair=settings.include_conversation_repair,
            controlled_slots=settings.controlled_slots,
        )
        self._service: A2AService | None = None
        self._serving: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    @classmethod
    def name(cls) -> str:
        """Name of the channel, that of the host's own server."""
        return CHANNEL_NAME

    @classmethod
    def from_credentials(cls, credentials: Optional[Dict[str, Any]]) -> A2AServer:  # noqa: UP006, UP045
        """Read the channel's entry.

        Raises:
            Refusal: A key or value is wrong, or the host's own server is configured too.
        """
        with refusing():
            check_block()
            return cls(read_settings(_filled(credentials)))

    def url_prefix(self) -> str:
        """The root of the server, or the configured path."""
        return self._settings.path

    def blueprint(self, on_new_message: Callable[[UserMessage], Awaitable[Any]]) -> Blueprint:
        """The routes, and the start and stop of what works behind them.

        Raises:
            Refusal: A file or address that the settings name does not fit.
        """
        with refusing():
            database = Database(settings_from({}).deployment.store.get_secret_value())
            service = A2AService(self._settings, database, self._assistant)
        blueprint = bridge(service.app, prefix=self._settings.path)

        async def start(app: Any) -> None:
            self._app = app
            await self._start(service, database)

        async def stop(app: Any) -> None:
            await self._end()

        blueprint.listener("after_server_start")(start)
        blueprint.listener("before_server_stop")(stop)
        return blueprint

    def get_output_channel_for_conversation(self, conversation_id: str) -> OutputChannel | None:
        """Where a dialogue speaks by itself, when background work of a sub agent has reported."""
        if self._service is None:
            return None
        return LaterChannel(
            self._service,
            self._assistant,
            conversation_id,
            repair=self._settings.include_conversation_repair,
        )

    def _agent(self) -> Agent | None:
        """The agent that the host has loaded now."""
        agent: Agent | None = getattr(self._app.ctx, "agent", None) if self._app else None
        return agent

    async def _start(self, service: A2AService, database: Database) -> None:
        agent = self._agent()
        if agent is not None:
            check_sessions(agent)
            with refusing():
                check_processes(agent, database)
        started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._serving = asyncio.create_task(
            self._serve(service, database, started), name="a2a server"
        )
        try:
            with refusing():
                await started
        except BaseException:
            # What was opened is closed before the host learns that the start failed.
            self._stop.set()
            await asyncio.wait({self._serving})
            raise

    async def _serve(
        self, service: A2AService, database: Database, started: asyncio.Future[None]
    ) -> None:
        """Own the server's lifetime, since the host's start and stop are two calls."""
        gauges = Gauges(read_callers, lambda: database)
        gauges.start()
        try:
            async with service.serving():
                self._service = service
                started.set_result(None)
                await self._stop.wait()
        except BaseException as error:
            if not started.done():
                started.set_exception(error)
                return
            raise
        finally:
            self._service = None
            await gauges.aclose()
            await database.aclose()

    async def _end(self) -> None:
        self._stop.set()
        if self._serving is not None:
            await self._serving


def _filled(credentials: dict[str, Any] | None) -> dict[str, Any]:
    """The entry with `${NAME}` replaced by the environment's, where the host has not yet."""
    entry = _resolved(credentials or {})
    refuse_unset(entry, FILE, CHANNEL)
    return cast("dict[str, Any]", entry)


def _resolved(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _resolved(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item) for item in value]
    return resolve_environment_variables(value) if "${" in str(value) else value
