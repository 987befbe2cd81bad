"""Takes messages in: checks them, finds or makes their task, claims their turn once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.types import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    Message,
    Role,
    SendMessageRequest,
    Task,
    TaskNotFoundError,
    TaskStatus,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict

from rasa_react_ext.a2a_server.call import Call, call_of
from rasa_react_ext.a2a_server.identity import context_for, conversation_of, digest_of, new_id
from rasa_react_ext.a2a_server.live import Live
from rasa_react_ext.a2a_server.port import Result, Turn
from rasa_react_ext.a2a_server.record import Record, agent_message, parse_task, proto_state
from rasa_react_ext.a2a_server.runner import Runner
from rasa_react_ext.a2a_server.subscription import Subscriptions
from rasa_react_ext.a2a_wire import State, data_of
from rasa_react_ext.store.served_task import ServedTasks, StoredTask
from rasa_react_ext.store.served_turn import Claim, NewTask, NewTurn, ServedTurns

__all__ = ["Accepted", "Intake", "check_id"]

ID_LIMIT = 255
SLOTS = "slots"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A message that was taken in, now or before.

    Attributes:
        task: The task as it was when the message was taken in.
        live: Its turn, where it runs now and here.
        replayed: Whether the message had been answered before.
    """

    task: Task
    live: Live | None = None
    replayed: bool = field(default=False)


class Intake:
    """Takes messages in; for any number of callers at once."""

    def __init__(
        self,
        tasks: ServedTasks,
        turns: ServedTurns,
        runner: Runner,
        subscriptions: Subscriptions,
        *,
        max_contexts: int | None,
        raw_sender_ids: bool,
    ) -> None:
        self._tasks = tasks
        self._turns = turns
        self._runner = runner
        self._subscriptions = subscriptions
        self._max_contexts = max_contexts
        self._raw = raw_sender_ids

    async def take(
        self, request: SendMessageRequest, context: ServerCallContext, *, streaming: bool
    ) -> Accepted:
        """Take a message in and start its turn.

        Raises:
            A2AError: It cannot be taken in; the error is the protocol's.
        """
        message, call = request.message, call_of(context)
        text, slots = _content(message)
        stored = await self._task_of(message, call)
        context_id = _context_id(message, stored, call)
        task_id = stored.task_id if stored is not None else new_id()
        turn = Turn(
            task_id=task_id,
            caller=call.caller,
            context_id=context_id,
            message_id=message.message_id,
            conversation=conversation_of(call.caller, context_id, raw=self._raw),
            text=text,
            slots=slots,
            metadata=MessageToDict(message.metadata) if message.HasField("metadata") else {},
            streaming=streaming,
        )
        opening = None if stored is not None else _opening(turn, message)
        push = await self._subscriptions.inline(request.configuration, task_id, call)
        claim = await self._turns.claim(self._claim(turn, message, opening, push))
        if claim.status != "new":
            return await self._repeated(claim, digest_of(message), call)
        if claim.full:
            return await self._refused(turn, claim)
        task = parse_task(stored.body if stored is not None else b"")
        if opening is not None:
            task.CopyFrom(opening)
        heard = _heard(message, turn) if stored is not None else None
        known = _known(turn, opening) if opening is not None else None
        return Accepted(task=task, live=self._runner.start(turn, claim, _hearing(heard), known))

    def _claim(
        self,
        turn: Turn,
        message: Message,
        opening: Task | None,
        push: tuple[str, str, bytes] | None,
    ) -> NewTurn:
        return NewTurn(
            caller=turn.caller,
            context_id=turn.context_id,
            message_id=turn.message_id,
            digest=digest_of(message),
            task_id=turn.task_id,
            conversation=turn.conversation,
            runner=self._runner.name,
            lease_seconds=self._runner.lease_seconds,
            kept_seconds=24 * 3600,
            new_task=opening and _new_task(opening),
            push=push,
            max_contexts=self._max_contexts,
        )

    async def _task_of(self, message: Message, call: Call) -> StoredTask | None:
        if not message.task_id:
            return None
        check_id("taskId", message.task_id)
        stored = await self._tasks.get(message.task_id, call.caller)
        if stored is None:
            raise TaskNotFoundError(f"Task {message.task_id} not found")
        if message.context_id and message.context_id != stored.context_id:
            raise InvalidParamsError("contextId is not the one of the task")
        return stored

    async def _repeated(self, claim: Claim, digest: str, call: Call) -> Accepted:
        if claim.status == "ended":
            raise UnsupportedOperationError(
                f"Task {claim.task_id} has ended and takes no further message"
            )
        if claim.digest != digest:
            call.status = 409
            raise InvalidParamsError("this messageId was used for another message")
        if claim.status == "open" or claim.outcome is None:
            call.status = 409
            raise InvalidParamsError(
                "a message with this messageId is being processed", {"taskId": claim.task_id}
            )
        if not claim.outcome:
            raise TaskNotFoundError(f"Task {claim.task_id} not found")
        return Accepted(task=parse_task(claim.outcome), replayed=True)

    async def _refused(self, turn: Turn, claim: Claim) -> Accepted:
        """Too many contexts are open: the task fails, as it does on the host."""
        stored = await self._tasks.get(turn.task_id)
        if stored is None:
            raise TaskNotFoundError
        record = Record(self._tasks, stored)
        result = Result(state=State.FAILED, data={"error_type": "context_limit_exceeded"})
        message = agent_message(record.task, "", {"state": "failed", **result.data})
        await record.status(State.FAILED, message, end=self._runner.end_of(claim.turn_id))
        return Accepted(task=record.task, replayed=True)


def check_id(name: str, value: str) -> None:
    """Refuse an id that cannot be stored.

    Raises:
        InvalidParamsError: It is too long or holds what no id may.
    """
    if len(value) > ID_LIMIT:
        raise InvalidParamsError(f"{name} is longer than {ID_LIMIT} characters")
    if "\x00" in value:
        raise InvalidParamsError(f"{name} holds a null character")


def _content(message: Message) -> tuple[str, dict[str, Any]]:
    """Text and slot values of a message; files are refused, since nothing would read them."""
    check_id("messageId", message.message_id)
    check_id("contextId", message.context_id)
    if message.role not in (Role.ROLE_USER, Role.ROLE_UNSPECIFIED):
        raise InvalidParamsError("a message to the assistant has the role of the user")
    texts: list[str] = []
    slots: dict[str, Any] = {}
    if message.HasField("metadata"):
        _add_slots(slots, MessageToDict(message.metadata).get(SLOTS))
    for part in message.parts:
        kind = part.WhichOneof("content")
        if kind is None:
            raise InvalidParamsError("a part has no content")
        if kind in ("raw", "url"):
            raise ContentTypeNotSupportedError("files are not accepted, only text and data")
        if kind == "text":
            texts.append(part.text)
        elif isinstance(data := data_of(part), dict):
            _add_slots(slots, data.get(SLOTS))
    text = "\n".join(texts).replace("\x00", "").strip()
    if not text and not slots:
        raise InvalidParamsError("the message has no text")
    return text, slots


def _add_slots(slots: dict[str, Any], values: object) -> None:
    if isinstance(values, dict):
        slots.update({str(name): value for name, value in values.items()})


def _context_id(message: Message, stored: StoredTask | None, call: Call) -> str:
    if stored is not None:
        return stored.context_id
    return message.context_id or context_for(call.caller, message.message_id)


def _heard(message: Message, turn: Turn) -> Message:
    heard = Message()
    heard.CopyFrom(message)
    heard.context_id, heard.task_id = turn.context_id, turn.task_id
    return heard


def _hearing(heard: Message | None) -> Callable[[Record], None]:
    """Notes in a task what was said to it; a new task has it from the beginning."""

    def hear(record: Record) -> None:
        if heard is not None:
            record.hear(heard)
            if heard.HasField("metadata"):
                record.task.metadata.CopyFrom(heard.metadata)

    return hear


def _opening(turn: Turn, message: Message) -> Task:
    """The new task; its metadata are the message's, by which some callers route pushes."""
    status = TaskStatus(state=proto_state(State.SUBMITTED))
    status.timestamp.GetCurrentTime()
    task = Task(id=turn.task_id, context_id=turn.context_id, status=status)
    task.history.append(_heard(message, turn))
    if message.HasField("metadata"):
        task.metadata.CopyFrom(message.metadata)
    return task


def _known(turn: Turn, opening: Task) -> StoredTask:
    """The new task as it was stored with its claim."""
    return StoredTask(
        task_id=turn.task_id,
        caller=turn.caller,
        context_id=turn.context_id,
        conversation=turn.conversation,
        state=State.SUBMITTED.value,
        ended=False,
        version=1,
        seq=1,
        body=opening.SerializeToString(),
        cancelling=False,
        updated_at=opening.status.timestamp.seconds,
    )


def _new_task(task: Task) -> NewTask:
    return NewTask(state=State.SUBMITTED.value, body=task.SerializeToString())
