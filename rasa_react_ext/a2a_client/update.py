"""What comes back for one message, in the order in which it happens."""

from __future__ import annotations

from dataclasses import dataclass

from rasa_react_ext.a2a_wire import Message, State, Task

__all__ = ["Accepted", "Answered", "Progress", "Running", "Settled", "Update"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """The agent has made a task of it, which can be cancelled from now on."""

    task_id: str
    context_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """The agent says something while it works.

    Attributes:
        text: What it says.
        message_id: Its id of the message, empty if it gave none.
        task: The task as known now.
    """

    text: str
    message_id: str
    task: Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The agent answered with a message; there is no task. Nothing follows."""

    message: Message


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """The task has ended or waits for the user. Nothing follows."""

    task: Task
    state: State


@dataclass(frozen=True, kw_only=True, slots=True)
class Running:
    """The task goes on without us; the agent will report. Nothing follows."""

    task: Task


Update = Accepted | Progress | Answered | Settled | Running
