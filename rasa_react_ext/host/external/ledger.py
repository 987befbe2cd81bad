"""Which tasks of remote agents are open, kept in the store, never in the way of a turn.

A store that cannot be reached costs the protection it gives, not the conversation.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import structlog
from rasa.dialogue_understanding.stack.frames.flow_stack_frame import AgentStackFrame
from sqlalchemy.exc import SQLAlchemyError

from rasa_react_ext.a2a_wire import message_text
from rasa_react_ext.host import process
from rasa_react_ext.host.arrival import MEMORY_KEY
from rasa_react_ext.store import RemoteTask, RemoteTasks

if TYPE_CHECKING:
    from rasa.dialogue_understanding.stack.dialogue_stack import DialogueStack

    from rasa_react_ext.a2a_wire import Task

__all__ = [
    "close",
    "frame_of",
    "keys_in",
    "new_key",
    "note",
    "note_waiting",
    "tasks",
    "watch",
    "watched",
]

WATCHED_AT_MOST = 50_000

watched: dict[str, None] = {}
"""Conversations of this process that may have open tasks, the oldest first."""

_T = TypeVar("_T")
_log = structlog.get_logger()


def tasks() -> RemoteTasks:
    """The tasks in the store of this process."""
    return RemoteTasks(process.current().database)


def new_key() -> str:
    """A name for a task that nobody can guess."""
    return uuid4().hex


def watch(conversation: str) -> None:
    """Remember that a conversation has an open task; the oldest are left to the upkeep."""
    watched.pop(conversation, None)
    watched[conversation] = None
    if len(watched) > WATCHED_AT_MOST:
        del watched[next(iter(watched))]


async def note_waiting(conversation: str, agent: str, key: str, task: Task) -> str:
    """Note a task that waits for the user, so that it can be cancelled when nobody replies.

    Args:
        conversation: Sender id.
        agent: Name of the sub agent.
        key: Our name of the task if it has one already.
        task: The task.
    """
    watch(conversation)
    text = message_text(task.status.message)
    question: dict[str, Any] = {"said": text, "said_at": time.time()} if text else {}
    if key and await _quietly(lambda: tasks().get(key)) is not None:
        await _quietly(
            lambda: tasks().update(
                key,
                background=False,
                parked=False,
                task_id=task.id,
                context_id=task.context_id,
                **question,
            )
        )
        return key
    fresh = key or new_key()
    await note(
        RemoteTask(
            key=fresh,
            conversation=conversation,
            agent=agent,
            task_id=task.id,
            context_id=task.context_id,
            **question,
        )
    )
    return fresh


async def note(row: RemoteTask) -> None:
    """Note a task, so that it can be cancelled when its conversation does not know of it."""
    watch(row.conversation)
    await _quietly(lambda: tasks().add(row))


async def close(key: str) -> None:
    """A task is over."""
    if key:
        await _quietly(lambda: tasks().close(key))


async def _quietly(work: Callable[[], Awaitable[_T]]) -> _T | None:
    try:
        return await work()
    except (SQLAlchemyError, OSError) as error:
        _log.error(
            "rasa_react_ext.store.unavailable",
            error=type(error).__name__,
            event_info=(
                "The store could not be reached, so an open task of a remote agent may not be "
                f"cancelled after a restart ({type(error).__name__}). Check rasa_react_ext: "
                "store in endpoints.yml."
            ),
        )
        return None


def keys_in(frames: Iterable[Any]) -> set[str]:
    """Our names of the tasks that these stack frames know of."""
    memories = (
        (frame.metadata or {}).get(MEMORY_KEY)
        for frame in frames
        if isinstance(frame, AgentStackFrame)
    )
    return {str(memory["key"]) for memory in memories if memory and memory.get("key")}


def frame_of(stack: DialogueStack, key: str) -> AgentStackFrame | None:
    """The frame that waits for a task."""
    for frame in stack.frames:
        if isinstance(frame, AgentStackFrame) and key in keys_in([frame]):
            return frame
    return None
