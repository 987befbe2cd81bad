"""Applies what an agent reported to its conversation, under the host's lock, exactly once.

One save of the conversation holds the new slots, the agent's outcome and the steps of the
flow that follow. What is repeated after a crash finds the frame gone or already moved on.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import structlog
from rasa.agents.constants import A2A_AGENT_CONTEXT_ID_KEY, AGENT_METADATA_SENDER_ID_KEY
from rasa.agents.core.cancellation import CancellationToken
from rasa.agents.core.types import AgentStatus
from rasa.agents.schemas import AgentInput, AgentOutput
from rasa.core.channels.channel import complete_channel_turn
from rasa.core.constants import (
    BOT_UTTERANCE_AGENT_MESSAGE_TYPE_INTERMEDIATE_MESSAGE,
    BOT_UTTERANCE_AGENT_MESSAGE_TYPE_KEY,
    BOT_UTTERANCE_AGENT_TASK_ID_KEY,
    BOT_UTTERANCE_MESSAGE_ID_KEY,
)
from rasa.dialogue_understanding.stack.frames.flow_stack_frame import AgentStackFrame, AgentState
from rasa.shared.core.events import BotUttered

from rasa_react_ext.a2a_client import Progress
from rasa_react_ext.a2a_wire import Task, message_text, read_state
from rasa_react_ext.host.arrival import MEMORY_KEY
from rasa_react_ext.host.event import as_events
from rasa_react_ext.host.external import ledger
from rasa_react_ext.host.external.reply import full_reply
from rasa_react_ext.host.external.teller import Teller
from rasa_react_ext.host.external.turn import Turn
from rasa_react_ext.host.observe.external import ExternalWatch

if TYPE_CHECKING:
    from rasa.core.channels import OutputChannel
    from rasa.shared.core.trackers import DialogueStateTracker

    from rasa_react_ext.host.external.agent import ExternalAgent
    from rasa_react_ext.host.external.desk import Desk
    from rasa_react_ext.store import RemoteTask

__all__ = ["Applied", "apply_outcome", "free_frame", "input_from", "tell"]

LOOK_BACK = 200
_STATES = {
    AgentStatus.COMPLETED: AgentState.COMPLETED,
    AgentStatus.INPUT_REQUIRED: AgentState.WAITING_FOR_INPUT_FROM_PUSH_NOTIFICATION,
}
_OPEN = (AgentState.PROCESSING, AgentState.WAITING_FOR_INPUT)


class Applied(StrEnum):
    """What became of an outcome."""

    DELIVERED = "delivered"
    PARKED = "parked"
    GONE = "gone"


async def tell(
    desk: Desk, agent: ExternalAgent, row: RemoteTask, task: Task, *, results: bool = False
) -> bool:
    """Say at once what an agent has found so far, while its task goes on.

    Args:
        desk: The assistant.
        agent: The agent.
        row: The task.
        task: What it says.
        results: Whether it is a whole result, which users' hooks see, too.

    Returns:
        False if the conversation has let go of the task.
    """
    processor = desk.processor()
    async with processor.lock_store.lock(row.conversation):
        tracker = await processor.get_tracker(row.conversation)
        frame = ledger.frame_of(tracker.stack, row.key)
        if frame is None:
            return False
        if _was_said(tracker, task):
            return True
        text = full_reply(task) if results else message_text(task.status.message)
        teller = Teller(agent, desk.output_channel(tracker), row.conversation)
        await teller.tell(Progress(text=text, message_id="", task=task))
        events = list(teller.events)
        if results:
            output = await _output(agent, tracker, frame, task)
            events += [e for e in as_events(output.events or (), agent.name) if e not in events]
        for event in events:
            tracker.update(event, processor.domain)
        if events:
            await processor.save_tracker(tracker)
    return True


async def apply_outcome(desk: Desk, agent: ExternalAgent, row: RemoteTask, task: Task) -> Applied:
    """Bring a stopped task into its conversation.

    Where the user cannot be reached now, or talks about something else, the outcome is
    parked: the agent's next turn gives it.

    Raises:
        LockError: The conversation is busy for too long; to be tried again.
    """
    processor = desk.processor()
    async with processor.lock_store.lock(row.conversation):
        tracker = await processor.get_tracker(row.conversation)
        stack = tracker.stack
        frame = ledger.frame_of(stack, row.key)
        if frame is None:
            return Applied.GONE
        if _memory(frame).get("mark") == _mark(task):
            return Applied.DELIVERED
        channel = desk.output_channel(tracker)
        values = {"task_id": task.id, "snapshot": task.SerializeToString()}
        await ledger.tasks().update(row.key, parked=True, **values)
        if channel is None or frame != stack.top() or frame.state not in _OPEN:
            if frame.state is AgentState.PROCESSING:
                frame.state = AgentState.WAITING_FOR_INPUT
                tracker.update_stack(stack)
                await processor.save_tracker(tracker)
            return Applied.PARKED
        output = await _output(agent, tracker, frame, task)
        for event in as_events(output.events or (), agent.name):
            tracker.update(event, processor.domain)
        _move(frame, output, task)
        tracker.update_stack(stack)
        await _go_on(processor, channel, tracker)
    await complete_channel_turn(channel, tracker)
    return Applied.DELIVERED


async def free_frame(desk: Desk, row: RemoteTask) -> None:
    """Let a conversation go on whose task was cancelled from outside: nothing is said."""
    processor = desk.processor()
    async with processor.lock_store.lock(row.conversation):
        tracker = await processor.get_tracker(row.conversation)
        stack = tracker.stack
        frame = ledger.frame_of(stack, row.key)
        if frame is None:
            return
        if frame.state is AgentState.PROCESSING:
            frame.state = AgentState.WAITING_FOR_INPUT
        memory = {k: v for k, v in _memory(frame).items() if k not in {"key", "task"}}
        frame.metadata = {**(frame.metadata or {}), MEMORY_KEY: memory}
        tracker.update_stack(stack)
        await processor.save_tracker(tracker)


async def _go_on(processor: Any, channel: OutputChannel, tracker: DialogueStateTracker) -> None:
    """Let the flow take its next steps, as after a message, and save."""
    token = CancellationToken()
    processor.register_cancellation_token(tracker.sender_id, token)
    try:
        await channel.notify_message_processing_started()
        await processor.process_tracker(channel, tracker, token)
        await processor.save_tracker(tracker)
    finally:
        processor.unregister_cancellation_token(tracker.sender_id)


async def _output(
    agent: ExternalAgent, tracker: DialogueStateTracker, frame: AgentStackFrame, task: Task
) -> AgentOutput:
    """The task's outcome as a turn would give it, after users' `process_agent_output`."""
    with structlog.contextvars.bound_contextvars(
        conversation_id=tracker.sender_id, flow_id=frame.flow_id, step_id=frame.step_id
    ):
        turn = Turn(agent, input_from(agent, tracker, frame), None, ExternalWatch())
        turn.resume(_memory(frame).get("key") or "")
        turn.teller.shown = _said_on_the_way(tracker, task)
        output = await turn.settle(task, read_state(task.status.state))
        return await agent.process_agent_output(output)


def input_from(
    agent: ExternalAgent, tracker: DialogueStateTracker, frame: AgentStackFrame
) -> AgentInput:
    """An agent input outside of a turn, for users' hooks."""
    metadata = {k: v for k, v in (frame.metadata or {}).items() if k != MEMORY_KEY}
    metadata[AGENT_METADATA_SENDER_ID_KEY] = tracker.sender_id
    context = _memory(frame).get("context")
    if context:
        metadata[A2A_AGENT_CONTEXT_ID_KEY] = context
    message = tracker.latest_message
    return AgentInput(
        id=agent.name,
        user_message=(message.text if message else None) or "",
        slots=[],
        conversation_history="",
        events=list(tracker.events),
        metadata=metadata,
        recipient_id=tracker.sender_id,
    )


def _move(frame: AgentStackFrame, output: AgentOutput, task: Task) -> None:
    """Put a frame into the state from which the host takes the outcome."""
    frame.state = _STATES.get(output.status, AgentState.TERMINAL)
    unsent = output.unsent_response_message
    text = output.response_message if unsent is None else unsent
    if frame.state is AgentState.TERMINAL:
        text = output.error_message
    metadata: dict[str, Any] = dict(output.metadata or {})
    metadata.pop("message", None)
    if text:
        metadata["message"] = {"text": text}
    metadata[MEMORY_KEY] = {**(metadata.get(MEMORY_KEY) or {}), "mark": _mark(task)}
    if output.status is AgentStatus.INPUT_REQUIRED:
        metadata["agent_response"] = output.response_message or ""
        metadata["structured_results"] = output.structured_results or []
    frame.metadata = metadata
    frame.agent_task_id = task.id


def _mark(task: Task) -> str:
    """What tells one stop of a task from another."""
    status = task.status
    said = status.message.message_id or message_text(status.message)
    state = read_state(status.state).value
    text = f"{task.id}/{state}/{said}/{status.timestamp.ToNanoseconds()}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _memory(frame: AgentStackFrame) -> dict[str, Any]:
    return dict((frame.metadata or {}).get(MEMORY_KEY) or {})


def _was_said(tracker: DialogueStateTracker, task: Task) -> bool:
    """Whether the conversation holds these words already, after a crash or in parallel."""
    message_id = task.status.message.message_id
    return bool(message_id) and any(
        event.metadata.get(BOT_UTTERANCE_MESSAGE_ID_KEY) == message_id
        for event in _utterances(tracker)
    )


def _said_on_the_way(tracker: DialogueStateTracker, task: Task) -> list[str]:
    """What the user has heard of this task already."""
    return [
        event.text or ""
        for event in _utterances(tracker)
        if event.metadata.get(BOT_UTTERANCE_AGENT_TASK_ID_KEY) == task.id
        and event.metadata.get(BOT_UTTERANCE_AGENT_MESSAGE_TYPE_KEY)
        == BOT_UTTERANCE_AGENT_MESSAGE_TYPE_INTERMEDIATE_MESSAGE
    ]


def _utterances(tracker: DialogueStateTracker) -> list[BotUttered]:
    latest = list(tracker.events)[-LOOK_BACK:]
    return [e for e in latest if isinstance(e, BotUttered) and isinstance(e.metadata, dict)]
