"""A conversation as a plain test has it: say something, look at what came of it.

Synchronous: the assistant lives in an event loop of its own, in another thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from anyio.from_thread import BlockingPortal

from rasa_react_ext.testing.transcript import Transcript

__all__ = ["Chat", "Talk", "Turn"]


class Talk(Protocol):
    """What the assistant's side of a conversation offers; called one call at a time."""

    async def say(self, text: str) -> list[dict[str, Any]]:
        """Pass a message on; the events of the turn, as the host's dictionaries."""
        ...

    async def slots(self) -> dict[str, Any]:
        """The values of all slots."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What came of one message.

    Attributes:
        bot: What the assistant said, message by message.
        tools: Names of the tools that ran, in the order they were recorded.
        events: All events, as the host's dictionaries.
    """

    bot: list[str]
    tools: list[str]
    events: list[dict[str, Any]]


class Chat:
    """One conversation.

    Args:
        talk: The assistant's side.
        portal: Into the event loop of the assistant.
    """

    def __init__(self, talk: Talk, portal: BlockingPortal) -> None:
        self._talk = talk
        self._portal = portal
        self._transcript = Transcript(timed=False)
        self.lines: list[str] = []

    def say(self, text: str) -> Turn:
        """Say something and wait for the end of the turn.

        Args:
            text: What the user says.

        Raises:
            HostError: The host gives the turn up.
        """
        self.lines.append(f"user   {text}")
        events = self._portal.call(self._talk.say, text)
        for line in self._transcript.lines(events):
            if line.kind != "user":
                self.lines.append(f"{line.kind:5}  {line.text}")
        return Turn(
            bot=[str(event["text"]) for event in _of(events, "bot") if event.get("text")],
            tools=[str(event.get("tool_name")) for event in _of(events, "mcp_tool_executed")],
            events=events,
        )

    @property
    def slots(self) -> dict[str, Any]:
        """The values of all slots."""
        return self._portal.call(self._talk.slots)

    @property
    def transcript(self) -> str:
        """What user, assistant, tools, flows and slots did so far, line by line.

        Without durations: the same conversation has the same transcript.
        """
        return "\n".join(self.lines)


def _of(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event.get("event") == kind]
