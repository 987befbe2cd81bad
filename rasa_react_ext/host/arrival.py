"""What belongs to the turn that is being processed, carried beside the host's calls.

The host hands an agent one input object; users' hooks see and change it. What
they must not see (the run's memory) or may not remove (the exit slots) travels
here instead, in context variables of the turn's own task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from rasa.agents.core.cancellation import CancellationToken
    from rasa.agents.schemas import AgentInput
    from rasa.agents.schemas.agent_input import AgentInputSlot

__all__ = ["MEMORY_KEY", "Arrival", "arrived", "current_step", "take_arrival", "token"]

MEMORY_KEY = "rasa_react_ext"

_arrival: ContextVar[Arrival | None] = ContextVar("rasa_react_ext_arrival", default=None)
token: ContextVar[CancellationToken | None] = ContextVar("rasa_react_ext_token", default=None)
"""The host's cancellation token of the turn that runs now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What came with an agent input before users' hooks saw it.

    Attributes:
        agent: Name of the agent.
        memory: What an earlier turn stored, as JSON.
        exit_slots: The slots of the exit conditions, as the host sent them.
    """

    agent: str
    memory: Any = None
    exit_slots: Sequence[AgentInputSlot] = field(default_factory=list)


def arrived(agent_input: AgentInput, exit_names: Sequence[str]) -> AgentInput:
    """Take our part out of an input, before hooks, tools and prompts see it."""
    metadata: Mapping[str, Any] = agent_input.metadata or {}
    slots = [slot.model_copy() for slot in agent_input.slots if slot.name in exit_names]
    _arrival.set(Arrival(agent=agent_input.id, memory=metadata.get(MEMORY_KEY), exit_slots=slots))
    rest = {key: value for key, value in metadata.items() if key != MEMORY_KEY}
    return agent_input.model_copy(update={"metadata": rest})


def take_arrival(agent: str) -> Arrival:
    """What `arrived` kept for this agent's turn; empty when it was not called."""
    kept = _arrival.get()
    _arrival.set(None)
    return kept if kept is not None and kept.agent == agent else Arrival(agent=agent)


def current_step() -> tuple[str, str]:
    """Flow and step that are running, as the host binds them for its logs."""
    bound = structlog.contextvars.get_contextvars()
    return str(bound.get("flow_id") or ""), str(bound.get("step_id") or "")
