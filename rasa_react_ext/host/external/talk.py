"""What is remembered of a talk with a remote agent: its context, and the task it waits in.

Kept in the frame's metadata under our key, stamped with flow and step, and taken out
before users' hooks see an input. What those put under `context_id` and `task_id` wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rasa.agents.constants import A2A_AGENT_CONTEXT_ID_KEY, A2A_AGENT_TASK_ID_KEY
from rasa.core.constants import BOT_UTTERANCE_AGENT_NAME_KEY, BOT_UTTERANCE_CONTEXT_ID_KEY
from rasa.shared.core.events import BotUttered, Event

from rasa_react_ext.host.arrival import MEMORY_KEY, current_step

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

__all__ = ["Talk", "arrived", "remembered", "take_talk"]

LOOK_BACK = 2000
_talk: ContextVar[Talk | None] = ContextVar("rasa_react_ext_talk", default=None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """A talk as it stands at the begin of a turn.

    Attributes:
        agent: Name of the agent.
        first: Whether nothing was said to the agent in this run yet.
        key: Our key of a task that runs in the background, empty without one.
    """

    agent: str
    first: bool = True
    key: str = ""


def arrived(agent_input: AgentInput) -> AgentInput:
    """Put what is remembered where hooks and documentation expect it."""
    metadata = dict(agent_input.metadata or {})
    stored = metadata.pop(MEMORY_KEY, None)
    flow, step = current_step()
    mine = isinstance(stored, Mapping) and (stored.get("flow"), stored.get("step")) == (flow, step)
    memory: Mapping[str, Any] = stored if mine and isinstance(stored, Mapping) else {}
    metadata.pop(A2A_AGENT_TASK_ID_KEY, None)
    if memory.get("task"):
        metadata[A2A_AGENT_TASK_ID_KEY] = memory["task"]
    context = memory.get("context") or _last_context(agent_input.events, agent_input.id)
    if context:
        metadata[A2A_AGENT_CONTEXT_ID_KEY] = context
    _talk.set(Talk(agent=agent_input.id, first=not memory, key=str(memory.get("key") or "")))
    return agent_input.model_copy(update={"metadata": metadata})


def take_talk(agent: str) -> Talk:
    """What `arrived` found for this agent's turn."""
    talk = _talk.get()
    _talk.set(None)
    return talk if talk is not None and talk.agent == agent else Talk(agent=agent)


def remembered(*, context_id: str, task_id: str = "", key: str = "") -> dict[str, Any]:
    """What the next turn of the run needs, for the frame's metadata.

    Args:
        context_id: The agent's context.
        task_id: The task that waits for the user; empty if none is open.
        key: Our key of a background task.
    """
    flow, step = current_step()
    stored = {"flow": flow, "step": step, "context": context_id, "task": task_id, "key": key}
    return {name: value for name, value in stored.items() if value}


def _last_context(events: Sequence[Event], agent: str) -> str:
    """The context of what the agent said last in this conversation, as the host recorded it."""
    for event in reversed(events[-LOOK_BACK:]):
        if isinstance(event, BotUttered):
            metadata = event.metadata or {}
            context = metadata.get(BOT_UTTERANCE_CONTEXT_ID_KEY)
            if context and metadata.get(BOT_UTTERANCE_AGENT_NAME_KEY) == agent:
                return str(context)
    return ""
