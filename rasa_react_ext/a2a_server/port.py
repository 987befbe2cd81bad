"""What the A2A server asks of the assistant behind it, and what it hands over.

Nothing here knows the host; the adapter does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rasa_react_ext.a2a_wire import State

__all__ = ["Assistant", "Output", "Profile", "Result", "Skill", "Turn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """One thing the assistant can do, as its card says.

    Attributes:
        id: Stable id.
        name: Name for people.
        description: What a caller's model reads.
    """

    id: str
    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a card says about the assistant that runs now.

    Attributes:
        name: Name of the assistant.
        version: Version of its model.
        skills: What it can do, by id.
    """

    name: str
    version: str
    skills: Sequence[Skill]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a caller, to be answered by the assistant.

    Attributes:
        task_id: Task it belongs to.
        caller: Who sent it.
        context_id: The caller's context.
        message_id: The caller's id of it.
        conversation: Id of the dialogue.
        text: What the user said.
        slots: Values the caller brings along, unchecked.
        metadata: The message's metadata, unchecked.
        streaming: Whether the caller asked for pieces of text.
    """

    task_id: str
    caller: str
    context_id: str
    message_id: str
    conversation: str
    text: str = ""
    slots: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    streaming: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a turn left the task.

    Attributes:
        state: The task's state now.
        text: All the user was told in the turn.
        data: Facts about the dialogue, as JSON; `state` is added.
    """

    state: State
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


class Output(Protocol):
    """Where a running turn reports; for one task at a time, in order."""

    async def say(
        self, text: str, *, data: Mapping[str, Any] | None = None, artifact_id: str = ""
    ) -> None:
        """One whole utterance.

        Args:
            text: The text, or empty where there are only data.
            data: Facts beside it, as JSON.
            artifact_id: The artifact that brought the same text in pieces.
        """
        ...

    async def piece(self, artifact_id: str, text: str, *, first: bool, last: bool) -> None:
        """A piece of an utterance that is sent as it comes."""
        ...


class Assistant(Protocol):
    """The assistant; any number of turns at once, one per conversation."""

    async def profile(self) -> Profile:
        """What its card says.

        Raises:
            HostError: No model is loaded.
        """
        ...

    async def run(self, turn: Turn, output: Output) -> Result:
        """Answer a message.

        Raises:
            Exception: The turn broke; the caller of the protocol hears nothing of it but
                that the task failed.
        """
        ...

    def interrupt(self, conversation: str) -> None:
        """Ask the turn of a conversation to stop soon; harmless if none runs."""
        ...

    async def leave(self, turn: Turn) -> Result:
        """Cancel what the dialogue is in the middle of; harmless if it is in nothing."""
        ...
