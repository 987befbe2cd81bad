"""The channel at which remote agents report about tasks that run in the background.

A report is stored before it is acknowledged; what applies it works beside the server, in
every process, from the same store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Dict, Optional, cast  # noqa: UP035 - the host's spelling

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError
from rasa.core.channels.channel import InputChannel, UserMessage
from sanic import Blueprint, Sanic
from sanic.request import Request
from sanic.response import HTTPResponse, empty, json

from rasa_react_ext.a2a_wire import read_push
from rasa_react_ext.a2a_wire.clean import clean_text
from rasa_react_ext.explain.setting import refusal
from rasa_react_ext.host import process
from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.cancel import cancel_conversation
from rasa_react_ext.host.external.desk import Desk
from rasa_react_ext.host.external.mount import Mount, current_mount, mount, unmount
from rasa_react_ext.host.external.upkeep import Upkeep
from rasa_react_ext.host.external.worker import Worker
from rasa_react_ext.host.observe.depth import Gauges, read_external
from rasa_react_ext.host.refusal import refusing
from rasa_react_ext.store import Acceptance, Inbox
from rasa_react_ext.store.database import StoreError

__all__ = ["TaskUpdates", "cancel"]

PLACE = "rasa_react_ext.channels.TaskUpdates"
FINISH_SECONDS = 12.0
DOCUMENTED_PATH = "/agent/task_update"
_STATUS = {
    Acceptance.STORED: 202,
    Acceptance.AGAIN: 202,
    Acceptance.CLOSED: 410,
    Acceptance.REFUSED: 401,
}


class TaskUpdatesSettings(BaseModel):
    """The channel's entry in credentials.yml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str = Field(
        default="task_updates",
        pattern=r"^[A-Za-z0-9_-]+$",
        description="Name of the route below /webhooks/.",
    )
    max_body_bytes: PositiveInt = Field(
        default=1_000_000, description="Size of a report that is accepted."
    )
    quiet_seconds: PositiveFloat = Field(
        default=30.0,
        description="Silence after which an open task is asked about.",
    )
    upkeep_seconds: PositiveFloat = Field(
        default=5.0, description="Pause between two looks for silent tasks."
    )


class TaskUpdates(InputChannel):
    """`rasa_react_ext.channels.TaskUpdates` in credentials.yml; nobody talks through it."""

    def __init__(self, settings: TaskUpdatesSettings) -> None:
        self._settings = settings
        self._working: list[asyncio.Task[None]] = []
        self._gauges = Gauges(read_external, lambda: process.current().database)
        self._worker: Worker | None = None
        self._upkeep: Upkeep | None = None

    @classmethod
    def name(cls) -> str:
        """Name of the channel."""
        return "rasa_react_ext_task_updates"

    @classmethod
    def from_credentials(cls, credentials: Optional[Dict[str, Any]]) -> TaskUpdates:  # noqa: UP006, UP045
        """Read the channel's entry.

        Raises:
            Refusal: A key or value is wrong; names it.
        """
        with refusing():
            try:
                return cls(TaskUpdatesSettings.model_validate(credentials or {}))
            except ValidationError as error:
                raise refusal(
                    error, TaskUpdatesSettings, file="credentials.yml", place=PLACE
                ) from error

    def url_prefix(self) -> str:
        """The channel's own path."""
        return self._settings.path

    def get_output_channel_for_conversation(self, conversation_id: str) -> None:
        """Nobody is reached through this channel."""

    def blueprint(self, on_new_message: Callable[[UserMessage], Awaitable[Any]]) -> Blueprint:
        """The routes, and the start and stop of what works behind them."""
        blueprint = _Routes(self.name(), self._found)

        @blueprint.post("/<key:str>", stream=True)
        async def report(request: Request, key: str) -> HTTPResponse:
            return await self._accept(request, key)

        @blueprint.get("/health")
        async def health(_: Request) -> HTTPResponse:
            try:
                return json(await self._health())
            except StoreError:
                return json({"status": "store unreachable"}, status=503)

        @blueprint.listener("after_server_start")
        async def start(app: Sanic[Any, Any]) -> None:
            desk = Desk.of(app)
            self._worker = Worker(desk)
            self._upkeep = upkeep = Upkeep(
                desk,
                self._worker.wake,
                every_seconds=self._settings.upkeep_seconds,
                quiet_seconds=self._settings.quiet_seconds,
            )
            self._working = [
                asyncio.create_task(self._worker.run(), name="reports of remote agents"),
                asyncio.create_task(upkeep.run(), name="upkeep of remote tasks"),
            ]
            self._gauges.start()

        @blueprint.listener("before_server_stop")
        async def stop(_: Sanic[Any, Any]) -> None:
            await self._finish()
            unmount()

        @blueprint.listener("after_server_stop")
        async def close(_: Sanic[Any, Any]) -> None:
            # Not earlier: until here, reports are still being accepted.
            await process.current().database.aclose()

        del report, health, start, stop, close
        return blueprint

    async def _finish(self) -> None:
        """Let what is being applied come to its end; cut off what takes too long."""
        await self._gauges.aclose()
        if self._worker is not None and self._upkeep is not None:
            self._worker.stop()
            self._upkeep.stop()
        if self._working:
            _, late = await asyncio.wait(self._working, timeout=FINISH_SECONDS)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late)
        self._working = []

    def _found(self, app: Sanic[Any, Any], prefix: str) -> None:
        """The server has taken the routes: agents can be told of them from now on."""
        mount(Mount(path=prefix, app=app))
        # The host's own route, where it is there, leads elsewhere: a second one would stop
        # the server.
        if not any(f"/{route.path}" == DOCUMENTED_PATH for route in app.router.routes):
            app.add_route(
                self._documented(),
                DOCUMENTED_PATH,
                methods=["POST"],
                stream=True,
                name="rasa_react_ext_task_update",
            )

    def _documented(self) -> Callable[[Request], Coroutine[Any, Any, HTTPResponse]]:
        """The documented path, which does not tell which task is meant; the body does."""

        async def report(request: Request) -> HTTPResponse:
            return await self._accept(request, "")

        return report

    async def _accept(self, request: Request, key: str) -> HTTPResponse:
        body = await self._body(request)
        if body is None:
            return empty(413)
        inbox = Inbox(process.current().database)
        try:
            found = clean_text(key) or await inbox.key_of(_task_id(body))
            acceptance = await inbox.accept(found, _secret(request), body)
        except StoreError:
            # The agent may send it again; it was not stored.
            return empty(503)
        if acceptance is Acceptance.STORED and self._worker is not None:
            self._worker.wake()
        return empty(_STATUS[acceptance])

    async def _body(self, request: Request) -> bytes | None:
        """The whole body; None as soon as it is too large."""
        body, stream = bytearray(), cast("Any", request.stream)
        while (piece := await stream.read()) is not None:
            if len(body) + len(piece) <= self._settings.max_body_bytes:
                body += piece
            else:
                body = bytearray(self._settings.max_body_bytes + 1)
        return bytes(body) if len(body) <= self._settings.max_body_bytes else None

    async def _health(self) -> dict[str, int]:
        """How much is waiting: reports, dead letters, open tasks."""
        counts = await Inbox(process.current().database).counts()
        return {**counts, "open": sum((await ledger.tasks().count_open()).values())}


class _Routes(Blueprint):
    """A blueprint that says where it was put."""

    def __init__(self, name: str, found: Callable[[Sanic[Any, Any], str], None]) -> None:
        super().__init__(name)
        self.ctx.found = found

    def register(self, app: Sanic[Any, Any], options: dict[str, Any]) -> None:
        """Put the routes into a server."""
        super().register(app, options)
        self.ctx.found(app, str(options.get("url_prefix") or ""))


def _secret(request: Request) -> str:
    """What proves where a report comes from, in either of the protocol's two headers."""
    token = request.headers.get("X-A2A-Notification-Token", "")
    scheme, _, credentials = request.headers.get("Authorization", "").partition(" ")
    return token or (credentials if scheme.lower() == "bearer" else "")


def _task_id(body: bytes) -> str:
    try:
        response = read_push(body)
    except ValueError:
        return ""
    return (
        response.task.id
        or response.status_update.task_id
        or response.artifact_update.task_id
        or response.message.task_id
    )


async def cancel(sender_id: str) -> int:
    """Cancel whatever remote agents do for a conversation, also while no turn is running.

    The host's `Agent.cancel_background_tasks` reaches only a turn that is running now;
    call both where a conversation ends.

    Args:
        sender_id: The conversation.

    Returns:
        How many tasks were stopped.
    """
    where = current_mount()
    return await cancel_conversation(sender_id, Desk.of(where.app) if where else None)
