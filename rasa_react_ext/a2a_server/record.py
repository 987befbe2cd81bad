"""One task while a process runs a turn of it: changed, stored, followed.

What a turn leaves its task in is stored before it is shown; what is said on the way is
shown at once and stored with the next change, or a moment later.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import replace
from typing import Any

from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import ParseDict

from rasa_react_ext.a2a_server.identity import new_id
from rasa_react_ext.a2a_wire import State, read_state
from rasa_react_ext.store.served_task import Change, ServedTasks, StoredTask, TurnEnd

__all__ = ["Record", "agent_message", "parse_task", "proto_state"]

HISTORY_LIMIT = 200


def parse_task(body: bytes) -> Task:
    """The task in a stored body."""
    task = Task()
    task.ParseFromString(body)
    return task


def proto_state(state: State) -> str:
    """A state's name in protocol 1.0."""
    return f"TASK_STATE_{state.name}"


def agent_message(
    task: Task, text: str, data: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None = None
) -> Message:
    """A message of the assistant: the text first, then the data, where there are any."""
    message = Message(
        message_id=new_id(), role=Role.ROLE_AGENT, context_id=task.context_id, task_id=task.id
    )
    if text:
        message.parts.append(Part(text=text, media_type="text/plain"))
    if data:
        part = Part(media_type="application/json")
        ParseDict(dict(data), part.data)
        message.parts.append(part)
    if metadata:
        ParseDict(dict(metadata), message.metadata)
    return message


class Record:
    """The task, its version in the store, and what happened to it in this turn.

    Attributes:
        task: The task as it is now.
        lost: Whether another has changed the task or taken the turn; nothing of ours
            is stored any more.
        over: Whether nothing more comes from this turn.
        first_seq: Number of the last event before this turn.
        stored_seq: Number of the last event that is stored.
    """

    def __init__(self, store: ServedTasks, stored: StoredTask) -> None:
        self.task = parse_task(stored.body)
        self.lost = False
        self.over = False
        self.first_seq = stored.seq
        self.stored_seq = stored.seq
        self._store = store
        self._version = stored.version
        self._log: list[StreamResponse] = []
        self._pending: list[tuple[int, bytes]] = []
        self._pushed: list[tuple[str, bytes]] = []
        self._bell = asyncio.Event()
        self._writing = asyncio.Lock()

    @property
    def state(self) -> State:
        """The task's state now."""
        return read_state(self.task.status.state)

    @property
    def seq(self) -> int:
        """Number of the last event."""
        return self.first_seq + len(self._log)

    def hear(self, message: Message) -> None:
        """Note what the caller said; stored with the next change."""
        self.task.history.append(message)

    async def status(
        self, state: State, message: Message | None = None, *, end: TurnEnd | None = None
    ) -> bool:
        """Change the state; False if the task is no longer ours to change."""
        if self.lost:
            return False
        async with self._writing:
            event = self._update(state, message)
            if not await self._write(event, end=end):
                return False
            self._show(event)
        return True

    async def tell(self, state: State, message: Message | None = None) -> None:
        """Show a state that is no end; stored with the next change, or by `flush`."""
        if self.lost:
            return
        async with self._writing:
            event = self._update(state, message)
            self._show(event)
            self._pending.append((self.seq, event.SerializeToString()))
            self._pushed.append((self.state.value, self.task.SerializeToString()))

    async def flush(self) -> None:
        """Store what is shown but not stored."""
        async with self._writing:
            if self._pending and not self.lost:
                await self._write(None, end=None)

    def _update(self, state: State, message: Message | None) -> StreamResponse:
        """Put the task into a state; what was last said becomes history."""
        if self.task.status.HasField("message"):
            self.task.history.append(self.task.status.message)
        _shorten(self.task)
        status = TaskStatus(state=proto_state(state), message=message)
        status.timestamp.GetCurrentTime()
        self.task.status.CopyFrom(status)
        update = TaskStatusUpdateEvent(
            task_id=self.task.id, context_id=self.task.context_id, status=status
        )
        if self.task.HasField("metadata"):
            update.metadata.CopyFrom(self.task.metadata)
        return StreamResponse(status_update=update)

    async def piece(self, artifact_id: str, text: str, *, first: bool, last: bool) -> None:
        """Add a piece of text to an artifact."""
        if self.lost:
            return
        artifact = Artifact(artifact_id=artifact_id, parts=[Part(text=text)])
        update = TaskArtifactUpdateEvent(
            task_id=self.task.id,
            context_id=self.task.context_id,
            artifact=artifact,
            append=not first,
            last_chunk=last,
        )
        async with self._writing:
            self._fold(artifact, append=not first)
            event = StreamResponse(artifact_update=update)
            self._show(event)
            self._pending.append((self.seq, event.SerializeToString()))

    async def follow(self, after: int) -> AsyncGenerator[StreamResponse]:
        """What happens from an event on, until this turn is over."""
        shown = after - self.first_seq
        while True:
            while shown < len(self._log):
                shown += 1
                yield self._log[shown - 1]
            if self.over:
                return
            await self._bell.wait()

    def close(self) -> None:
        """Nothing more comes from this turn."""
        self.over = True
        self._ring()

    async def _write(self, last: StreamResponse | None, *, end: TurnEnd | None) -> bool:
        """Store all; what is shown stays for the next time where the store cannot be reached."""
        seq, events, pushed = self.seq, [*self._pending], [*self._pushed]
        body = self.task.SerializeToString()
        if last is not None:
            seq += 1
            events.append((seq, last.SerializeToString()))
            pushed.append((self.state.value, body))
        change = Change(
            task_id=self.task.id,
            version=self._version,
            state=self.state.value,
            ended=self.state.ended,
            seq=seq,
            body=body,
            events=events,
            pushed=pushed,
            end=None if end is None else replace(end, outcome=body),
        )
        kept = await self._store.record(change)
        self._pending.clear()
        self._pushed.clear()
        self._version += 1
        self.lost = not kept
        if kept:
            self.stored_seq = seq
        return kept

    def _show(self, event: StreamResponse) -> None:
        self._log.append(event)
        self._ring()

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    def _fold(self, artifact: Artifact, *, append: bool) -> None:
        stored = _find(self.task.artifacts, artifact.artifact_id)
        if stored is None:
            self.task.artifacts.append(artifact)
        elif append and stored.parts:
            stored.parts[-1].text += artifact.parts[0].text
        else:
            stored.CopyFrom(artifact)


def _find(artifacts: Iterable[Artifact], artifact_id: str) -> Artifact | None:
    return next((item for item in artifacts if item.artifact_id == artifact_id), None)


def _shorten(task: Task) -> None:
    if len(task.history) > HISTORY_LIMIT:
        del task.history[: len(task.history) - HISTORY_LIMIT]
