"""One task put together from what an agent says about it, in whatever order it comes.

Artifacts are kept by id: a chunk appends, a first chunk or a whole task replaces. What
comes after the end of a task, or again, changes nothing.
"""

from __future__ import annotations

from a2a.types import (
    Artifact,
    Message,
    Part,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)

from rasa_react_ext.a2a_wire.clean import clean
from rasa_react_ext.a2a_wire.state import State, read_state

__all__ = ["Assembly"]


class Assembly:
    """Folds stream events and snapshots of one task.

    Attributes:
        task: The task as known now; without id before the first event.
        message: A message that came instead of a task, or None.
    """

    def __init__(self) -> None:
        self.task = Task()
        self.message: Message | None = None
        self._streamed: set[str] = set()
        self._whole: set[str] = set()

    @property
    def state(self) -> State:
        """The state as known now."""
        return read_state(self.task.status.state)

    def add(self, response: StreamResponse) -> bool:
        """Take one event; True if it may have changed something.

        Events of another task, and all but a whole task after the end, are left out. The
        event itself loses the characters that no database holds.
        """
        clean(response)
        if response.HasField("message"):
            self.message = response.message
            return True
        if response.HasField("task"):
            return self.replace(response.task)
        if response.HasField("status_update"):
            return self._status(response.status_update)
        if response.HasField("artifact_update"):
            return self._artifact(response.artifact_update)
        return False

    def replace(self, task: Task) -> bool:
        """Take a whole task; an older state never takes the place of an end."""
        task = clean(task)
        if self._foreign(task.id) or (self.state.ended and not read_state(task.status.state).ended):
            return False
        whole = Task()
        whole.CopyFrom(task)
        for artifact in whole.artifacts:
            if artifact.artifact_id in self._streamed:
                _join_texts(artifact)
        self.task = whole
        return True

    def _status(self, update: TaskStatusUpdateEvent) -> bool:
        if self._foreign(update.task_id) or self.state.ended:
            return False
        self._name(update.task_id, update.context_id)
        self.task.status.CopyFrom(update.status)
        return True

    def _artifact(self, update: TaskArtifactUpdateEvent) -> bool:
        artifact_id = update.artifact.artifact_id
        late = update.append and artifact_id in self._whole
        if self._foreign(update.task_id) or self.state.ended or late:
            return False
        self._name(update.task_id, update.context_id)
        self._note(update)
        stored = next((a for a in self.task.artifacts if a.artifact_id == artifact_id), None)
        if stored is None:
            self.task.artifacts.append(update.artifact)
        elif update.append:
            stored.parts.extend(update.artifact.parts)
            stored.metadata.MergeFrom(update.artifact.metadata)
            _join_texts(stored)
        else:
            stored.CopyFrom(update.artifact)
        return True

    def _note(self, update: TaskArtifactUpdateEvent) -> None:
        artifact_id = update.artifact.artifact_id
        if update.append:
            self._streamed.add(artifact_id)
        if update.last_chunk:
            self._whole.add(artifact_id)
        else:
            self._whole.discard(artifact_id)

    def _name(self, task_id: str, context_id: str) -> None:
        self.task.id = task_id or self.task.id
        self.task.context_id = context_id or self.task.context_id

    def _foreign(self, task_id: str) -> bool:
        return bool(task_id and self.task.id and task_id != self.task.id)


def _join_texts(artifact: Artifact) -> None:
    """Make one text of neighbouring pieces of text, as a streamed artifact means them."""
    joined: list[Part] = []
    for part in artifact.parts:
        if joined and part.HasField("text") and joined[-1].HasField("text"):
            joined[-1].text += part.text
        else:
            copy = Part()
            copy.CopyFrom(part)
            joined.append(copy)
    del artifact.parts[:]
    artifact.parts.extend(joined)
