"""An agent's settings as the engine's rules and budget, with their defaults."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rasa_react_ext.engine.budget import Budget
from rasa_react_ext.engine.decision import Rules
from rasa_react_ext.host.condition import ExitConditions
from rasa_react_ext.host.deadline import turn_deadline
from rasa_react_ext.host.hooked_model import has_own_generation

if TYPE_CHECKING:
    from rasa_react_ext.host.agent import ReActAgent
    from rasa_react_ext.host.exit_slot import ExitSlots

__all__ = ["budget_of", "memory_limit", "rules_of"]

MEMORY_LIMIT_BYTES = 32_768
PARALLEL_TOOLS = 16
MAX_REPEATS = 3
MODEL_RETRIES = 2


def rules_of(
    agent: ReActAgent, exit_slots: ExitSlots, built_in: Sequence[Mapping[str, Any]]
) -> Rules:
    """The rules of a run: a task's where the step has exit conditions, else an open one's."""
    settings = agent.settings
    conditions = exit_slots.conditions
    return Rules(
        max_steps=settings.max_steps or agent.MAX_ITERATIONS,
        max_tokens=settings.max_tokens,
        max_repeats=settings.max_repeats or MAX_REPEATS,
        on_limit=settings.on_limit or "ask",
        on_cancel=settings.on_cancel or "wait",
        fillers=agent.fillers or has_own_generation(agent),
        slots=exit_slots.specs(agent, built_in) if conditions else {},
        completes="" if conditions else "task_completed",
        condition=ExitConditions(conditions, agent.name) if conditions else None,
    )


def budget_of(agent: ReActAgent) -> Budget:
    """The limits of the turn that begins now."""
    settings = agent.settings
    now = time.monotonic()
    deadline = turn_deadline(agent.turn_timeout)
    retries = settings.model_retries
    return Budget(
        deadline=deadline,
        closing_seconds=Budget.closing_share(max(0.0, deadline - now)),
        tool_timeout_seconds=agent.tool_timeout,
        max_parallel_tools=settings.max_parallel_tools or PARALLEL_TOOLS,
        model_retries=MODEL_RETRIES if retries is None else retries,
    )


def memory_limit(agent: ReActAgent) -> int | None:
    """Bytes of memory a conversation may keep of this agent; None when it keeps none."""
    settings = agent.settings
    if settings.memory == "off":
        return None
    return settings.memory_limit_bytes or MEMORY_LIMIT_BYTES
