"""What a running turn reports, as events of its task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from a2a.types import Message

from rasa_react_ext.a2a_server.port import Result
from rasa_react_ext.a2a_server.record import Record, agent_message
from rasa_react_ext.a2a_wire import State

__all__ = ["Report"]


class Report:
    """An `Output` that writes a record; pieces only where the caller asked for them."""

    def __init__(self, record: Record, *, streaming: bool) -> None:
        self._record = record
        self._streaming = streaming

    async def say(
        self, text: str, *, data: Mapping[str, Any] | None = None, artifact_id: str = ""
    ) -> None:
        """One whole utterance, as a message beside the state `working`."""
        metadata = {"streamed_artifact_id": artifact_id} if artifact_id else None
        message = agent_message(self._record.task, text, data, metadata)
        await self._record.tell(State.WORKING, message)

    async def remark(self, text: str) -> None:
        """One utterance beside the state as it is."""
        message = agent_message(self._record.task, text, None)
        await self._record.tell(self._record.state, message)

    async def piece(self, artifact_id: str, text: str, *, first: bool, last: bool) -> None:
        """A piece of an utterance."""
        if self._streaming and text:
            await self._record.piece(artifact_id, text, first=first, last=last)

    def final(self, result: Result) -> Message:
        """The message beside the state that a turn ends in."""
        name = result.state.value.replace("-", "_")
        return agent_message(self._record.task, result.text, {"state": name, **result.data})
