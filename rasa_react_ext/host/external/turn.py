"""One turn with a remote agent: host input in, message out, host output back."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import structlog
from rasa.agents.constants import (
    A2A_AGENT_CONTEXT_ID_KEY,
    AGENT_METADATA_CANCELLATION_REASON_KEY,
)
from rasa.agents.core.types import AgentStatus
from rasa.agents.schemas import AgentOutput
from rasa.shared.agents.outbound_call_hook import OutboundCallHookError

from rasa_react_ext.a2a_client import (
    Accepted,
    Answered,
    Patience,
    Progress,
    PushTarget,
    Settled,
    Update,
)
from rasa_react_ext.a2a_wire import Message, State, Task, message_text
from rasa_react_ext.errors import ExtensionError, LimitError
from rasa_react_ext.host import process
from rasa_react_ext.host.deadline import turn_deadline
from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.outgoing import compose
from rasa_react_ext.host.external.reply import full_reply, unsent_reply
from rasa_react_ext.host.external.result import output_metadata
from rasa_react_ext.host.external.talk import remembered, take_talk
from rasa_react_ext.host.external.teller import Teller, message_metadata, task_metadata
from rasa_react_ext.host.observe.external import ExternalWatch
from rasa_react_ext.host.stop import stoppable
from rasa_react_ext.store import RemoteTask

if TYPE_CHECKING:
    from rasa.agents.core.cancellation import CancellationToken
    from rasa.agents.schemas import AgentInput
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.host.external.agent import ExternalAgent

__all__ = ["Turn", "take_turn"]

# A turn that waits for so long notes its task: nobody else would know it if it were killed.
NOTED_AFTER_SECONDS = 1.0
CANCELLED = "The turn was cancelled."
_log = structlog.get_logger()


async def take_turn(
    agent: ExternalAgent,
    agent_input: AgentInput,
    channel: OutputChannel | None,
    token: CancellationToken | None,
    kind: type[Turn],
    watch: ExternalWatch,
) -> AgentOutput:
    """Do one turn of an agent; only cancellation of the task itself is passed on."""
    await process.current().enter(agent)
    turn = kind(agent, agent_input, channel, watch)
    output: AgentOutput | None = None
    try:
        async with stoppable(token):
            output = await turn.take()
    except BaseException:
        turn.abandon()
        raise
    return output if output is not None else await turn.cancelled()


class Turn:
    """One message to an agent, and what became of it."""

    def __init__(
        self,
        agent: ExternalAgent,
        agent_input: AgentInput,
        channel: OutputChannel | None,
        watch: ExternalWatch,
    ) -> None:
        self.agent = agent
        self.watch = watch
        self.input = agent_input
        self.talk = take_talk(agent_input.id)
        metadata = agent_input.metadata or {}
        self.recipient = agent_input.recipient_id or metadata.get("sender_id")
        self.teller = Teller(agent, channel, self.recipient)
        self._message: Message | None = None
        self._task_id = ""
        self._key = self.talk.key
        self._pushes = False
        self._parked = False
        self._noting: asyncio.Task[None] | None = None
        self._soon: asyncio.TimerHandle | None = None

    def resume(self, key: str) -> None:
        """Take up a task whose end is closed by somebody else, after it is saved."""
        self._key, self._parked = key, True

    async def take(self) -> AgentOutput:
        """Send the message and follow it to its outcome."""
        try:
            self._message = await compose(self.agent, self.input, first=self.talk.first)
            return await self._follow(self._message)
        except OutboundCallHookError as error:
            return self.failed(f"pre_call_hook failed, so nothing was sent: {error}")
        except LimitError as error:
            self.abandon()
            return await self._lost(str(error))
        except (ExtensionError, ValueError) as error:
            if self._pushes:
                self.abandon()
            return await self._lost(str(error))

    async def _follow(self, message: Message) -> AgentOutput:
        patience = Patience(
            deadline=turn_deadline(None),
            poll_seconds=self.agent.poll_seconds,
            first_delay_seconds=self.agent.first_delay_seconds,
        )
        push = await self._push_target(message)
        self.watch.asked()
        sent = self.agent.connection.send(message, patience, push=push)
        output: AgentOutput | None = None
        try:
            async with aclosing(sent) as updates:
                async for update in updates:
                    output = await self._take(update) or output
        finally:
            if self._soon is not None:
                self._soon.cancel()
        assert output is not None, "an exchange ends with an outcome or an error"
        return output

    async def _take(self, update: Update) -> AgentOutput | None:
        if isinstance(update, Accepted):
            self._task_id = update.task_id
            self.watch.accepted(update.task_id, update.context_id)
            if not self._key:
                loop = asyncio.get_running_loop()
                self._soon = loop.call_later(NOTED_AFTER_SECONDS, self._note_running, update)
        elif isinstance(update, Progress):
            self.watch.said(update.text)
            await self.teller.tell(update)
        elif isinstance(update, Answered):
            await self._close()
            self.watch.answered("message", message_text(update.message))
            return self.answered(update.message)
        elif isinstance(update, Settled):
            return await self.settle(update.task, update.state)
        return None

    async def _push_target(self, message: Message) -> PushTarget | None:
        """Where the agent reports by itself; nowhere, unless the turn is for the background."""
        del message
        return None

    async def settle(self, task: Task, state: State) -> AgentOutput:
        """Note whether the task is still open; then its outcome."""
        self.watch.answered(state.value, full_reply(task), task.id)
        if state.waits:
            await self._noted()
            self._key = await ledger.note_waiting(
                str(self.recipient or ""), self.agent.name, self._key, task
            )
        elif not self._parked:
            await self._close()
        return self.settled(task, state)

    async def _lost(self, reason: str) -> AgentOutput:
        await self._close()
        return self.failed(reason)

    def _note_running(self, accepted: Accepted) -> None:
        self._key = ledger.new_key()
        row = RemoteTask(
            key=self._key,
            conversation=str(self.recipient or ""),
            agent=self.agent.name,
            task_id=accepted.task_id,
            context_id=accepted.context_id,
        )
        self._noting = self.agent.chores.start(ledger.note(row), "note of a task")

    async def _noted(self) -> None:
        if self._noting is not None:
            await asyncio.wait({self._noting})

    async def _close(self) -> None:
        await self._noted()
        await ledger.close(self._key)

    # Outcomes

    def answered(self, message: Message) -> AgentOutput:
        """A message: shown to the user, who can reply or leave."""
        from_message = Task()
        from_message.status.message.CopyFrom(message)
        text = message_text(message)
        return self._output(
            AgentStatus.INPUT_REQUIRED,
            text=text,
            results=self.agent.get_structured_results_from_task(self.input, from_message),
            given=message_metadata(message),
            memory=remembered(context_id=message.context_id or self._context),
        )

    def settled(self, task: Task, state: State) -> AgentOutput:
        """A task that has ended or waits."""
        text = full_reply(task)
        results = self.agent.get_structured_results_from_task(self.input, task)
        given = task_metadata(task)
        if state.waits:
            text = text or (_SIGN_IN.format(name=self.agent.name) if _needs_auth(state) else "")
            memory = remembered(
                context_id=task.context_id or self._context, task_id=task.id, key=self._key
            )
            return self._output(
                AgentStatus.INPUT_REQUIRED,
                text=text,
                results=results,
                given=given,
                memory=memory,
                task=task,
            )
        if state is State.COMPLETED:
            return self._output(
                AgentStatus.COMPLETED, text=text, results=results, given=given, task=task
            )
        reason = f"Agent {self.agent.name!r} ended its task as {state.value}"
        return self.failed(f"{reason}: {text}" if text else f"{reason}.", results=results)

    def failed(
        self, reason: str, *, results: list[list[dict[str, Any]]] | None = None
    ) -> AgentOutput:
        """A failure for the flow, with everything that was said; it is not tried again."""
        _log.warning(
            "rasa_react_ext.external.failed",
            agent_name=self.agent.name,
            task_id=self._task_id,
            event_info=reason,
        )
        output = self._output(AgentStatus.FATAL_ERROR, text="", results=results, given={})
        output.error_message = reason
        return output

    async def cancelled(self) -> AgentOutput:
        """The user was faster: nothing is said, and the agent is told to stop."""
        self.abandon()
        await self._close()
        if self.agent.settings.on_cancel == "end":
            reason = {AGENT_METADATA_CANCELLATION_REASON_KEY: CANCELLED}
            return self._output(AgentStatus.CANCELLED, text="", given=reason)
        memory = remembered(context_id=self._context)
        return self._output(AgentStatus.INPUT_REQUIRED, text="", given={}, memory=memory)

    def abandon(self) -> None:
        """Tell the agent to stop, without waiting for it."""
        if self._message is not None:
            work = self.agent.connection.abandon(self._message, self._task_id)
            self.agent.chores.start(work, "cancellation of a task")

    def _output(
        self,
        status: AgentStatus,
        *,
        text: str,
        given: dict[str, Any],
        results: list[list[dict[str, Any]]] | None = None,
        memory: dict[str, Any] | None = None,
        task: Task | None = None,
    ) -> AgentOutput:
        unsent = unsent_reply(text, self.teller.shown)
        if not text and status is AgentStatus.INPUT_REQUIRED:
            unsent = ""
        output = AgentOutput(
            id=self.input.id,
            status=status,
            response_message=text or None,
            events=self.teller.events,
            structured_results=results,
            task_id=task.id if task is not None else None,
            context_id=task.context_id if task is not None else None,
            metadata=output_metadata(self.input, given, memory),
        )
        if unsent is not None:
            output.unsent_response_message = unsent
        return output

    @property
    def _context(self) -> str:
        return str((self.input.metadata or {}).get(A2A_AGENT_CONTEXT_ID_KEY) or "")


_SIGN_IN = "{name} asks you to sign in before it can go on."


def _needs_auth(state: State) -> bool:
    return state is State.AUTH_REQUIRED
