"""A turn that begins a task in the background, or meets one that it began earlier."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import structlog
from rasa.agents.constants import AGENT_METADATA_RESUMED_AFTER_INTERRUPTION
from rasa.agents.core.types import AgentStatus
from sqlalchemy.exc import SQLAlchemyError

from rasa_react_ext.a2a_client import Accepted, PushTarget, Running, Update
from rasa_react_ext.a2a_wire import Message, Task, has_push, message_text, read_state
from rasa_react_ext.errors import ExtensionError, PeerError
from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.mount import current_mount
from rasa_react_ext.host.external.talk import remembered
from rasa_react_ext.host.external.teller import task_metadata
from rasa_react_ext.host.external.turn import Turn
from rasa_react_ext.host.observe.external import current_origin
from rasa_react_ext.store import RemoteTask, secret_hash

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentOutput

__all__ = ["BackgroundTurn"]

BACKGROUND_SECONDS = 3600.0
ACKNOWLEDGED = "I'm on it and will tell you as soon as I know more."
_log = structlog.get_logger()
STILL_WORKING = "I'm still working on it."
HELD = "I'm still working on it and will pass that on."


class BackgroundTurn(Turn):
    """A turn of an agent that reports by itself."""

    async def take(self) -> AgentOutput:
        """Meet the task of an earlier turn, or send the message; see `Turn.take`."""
        row = await ledger.tasks().get(self.talk.key) if self.talk.key else None
        if row is not None and not row.closed and row.background:
            return await self._meet(row)
        try:
            card = await self.agent.connection.card()
        except ExtensionError as error:
            return self.failed(str(error))
        if not has_push(card):
            return await super().take()
        self._key = row.key if row is not None and not row.closed else ""
        self._pushes = True
        return await super().take()

    async def _meet(self, row: RemoteTask) -> AgentOutput:
        """What an earlier turn's task has come to."""
        self._key = row.key
        task = Task.FromString(row.snapshot)
        if row.parked:
            return await self._given(row, task)
        try:
            current = await self.agent.connection.task(row.task_id) if row.task_id else None
        except PeerError:
            current = None
        task = current if current is not None else task
        if read_state(task.status.state).stopped:
            await ledger.tasks().update(
                row.key, parked=True, snapshot=task.SerializeToString(), task_id=task.id
            )
            return await self._given(row, task)
        return await self._busy(row)

    async def _given(self, row: RemoteTask, task: Task) -> AgentOutput:
        """The outcome that was kept for this conversation.

        An end stays parked until the conversation is seen to have gone on, so that a turn
        that is lost can have it once more.
        """
        self.resume(row.key)
        return await self.settle(task, read_state(task.status.state))

    async def _busy(self, row: RemoteTask) -> AgentOutput:
        """The user speaks to an agent that works."""
        resumed = (self.input.metadata or {}).get(AGENT_METADATA_RESUMED_AFTER_INTERRUPTION)
        text = row.said or STILL_WORKING
        if self.agent.settings.hold and not resumed:
            held = "\n".join([*filter(None, [row.held]), self.input.user_message])
            await ledger.tasks().update(row.key, held=held)
            text = HELD
        return self._waiting(row.task_id, row.context_id, text)

    # The message

    async def _push_target(self, message: Message) -> PushTarget | None:
        """Where the agent reports, noted before it can."""
        where, url = current_mount(), self.agent.push_url
        if not self._pushes or where is None or url is None:
            return None
        secret = secrets.token_urlsafe(32)
        try:
            await self._note(message, secret)
        except (SQLAlchemyError, OSError) as error:
            _log.error(
                "rasa_react_ext.store.unavailable",
                agent_name=self.agent.name,
                error=type(error).__name__,
                event_info=(
                    f"The store could not be reached, so agent {self.agent.name!r} is waited for "
                    "instead of working in the background. Check rasa_react_ext: store in "
                    "endpoints.yml."
                ),
            )
            self._pushes = False
            return None
        ledger.watch(str(self.recipient or ""))
        return PushTarget(url=where.address(url, self._key), secret=secret, id=self._key)

    async def _note(self, message: Message, secret: str) -> None:
        """Note the task before the agent can report about it; an older secret ends here."""
        deadline = time.time() + (self.agent.settings.background_seconds or BACKGROUND_SECONDS)
        if self._key:
            await ledger.tasks().update(
                self._key,
                background=True,
                parked=False,
                snapshot=b"",
                held="",
                secret_hash=secret_hash(secret),
                deadline=deadline,
                origin=current_origin(),
            )
            return
        self._key = ledger.new_key()
        await ledger.tasks().add(
            RemoteTask(
                key=self._key,
                conversation=str(self.recipient or ""),
                agent=self.agent.name,
                context_id=message.context_id,
                background=True,
                secret_hash=secret_hash(secret),
                deadline=deadline,
                origin=current_origin(),
            )
        )

    async def _take(self, update: Update) -> AgentOutput | None:
        if isinstance(update, Accepted) and self._pushes:
            await ledger.tasks().update(
                self._key, task_id=update.task_id, context_id=update.context_id
            )
        if isinstance(update, Running):
            return await self._submitted(update.task)
        return await super()._take(update)

    async def _submitted(self, task: Task) -> AgentOutput:
        said = message_text(task.status.message) if task.status.HasField("message") else ""
        if said:
            await ledger.tasks().update(self._key, said=said, said_at=time.time())
        text = "" if self.teller.shown else self.agent.settings.acknowledgement or ACKNOWLEDGED
        return self._waiting(task.id, task.context_id, text, task=task)

    def _waiting(
        self, task_id: str, context_id: str, text: str, *, task: Task | None = None
    ) -> AgentOutput:
        """The task goes on: the host's busy guard stands in, or the user may go on."""
        self.watch.went_on(task_id)
        memory = remembered(context_id=context_id or self._context, key=self._key)
        given = task_metadata(task) if task is not None else {}
        if self.agent.settings.busy == "free":
            return self._output(AgentStatus.INPUT_REQUIRED, text=text, given=given, memory=memory)
        output = self._output(AgentStatus.SUBMITTED, text="", given=given, memory=memory)
        output.task_id, output.context_id = task_id, context_id
        return output
