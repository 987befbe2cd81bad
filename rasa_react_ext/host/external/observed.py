"""Turns with external agents, and what happens to their tasks afterwards, as others see them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rasa.agents.constants import AGENT_METADATA_RESUMED_AFTER_INTERRUPTION
from rasa.agents.core.types import AgentStatus

from rasa_react_ext.host import process
from rasa_react_ext.host.arrival import current_step
from rasa_react_ext.host.observe.external import (
    ExternalWatch,
    external_after_turn,
    external_turn,
    new_id,
)
from rasa_react_ext.host.observe.trace_record import TurnLabel

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput, AgentOutput

    from rasa_react_ext.store import RemoteTask

__all__ = ["note_outcome", "observed_after_turn", "observed_turn"]


@contextmanager
def observed_turn(agent: str, agent_input: AgentInput) -> Generator[ExternalWatch]:
    """Watch a turn.

    Args:
        agent: Name of the agent.
        agent_input: What the host hands over.
    """
    metadata = agent_input.metadata or {}
    flow, step = current_step()
    # After an interruption the host speaks in the user's place.
    came_back = metadata.get(AGENT_METADATA_RESUMED_AFTER_INTERRUPTION)
    label = TurnLabel(
        conversation=str(agent_input.recipient_id or metadata.get("sender_id") or ""),
        turn=new_id(),
        agent=agent,
        flow=flow,
        step=step,
        user="" if came_back else agent_input.user_message,
    )
    record = process.current().record(label)
    with external_turn(agent, label.conversation, record) as watch:
        yield watch


@contextmanager
def observed_after_turn(operation: str, row: RemoteTask) -> Generator[ExternalWatch]:
    """Watch what happens to a task after its turn.

    Args:
        operation: `deliver_report` or `cancel_task`.
        row: The task.
    """
    label = TurnLabel(
        conversation=row.conversation, turn=new_id(), agent=row.agent, flow="", step="", user=""
    )
    record = process.current().record(label)
    with external_after_turn(operation, row.agent, row.conversation, row.origin, record) as watch:
        if row.task_id:
            watch.accepted(row.task_id, row.context_id)
        yield watch


def note_outcome(watch: ExternalWatch, output: AgentOutput) -> None:
    """Note how a turn ended, by what the host is told."""
    failed = output.status is AgentStatus.FATAL_ERROR
    watch.ended(output.status.value, failed=failed, reason=output.error_message or "")
