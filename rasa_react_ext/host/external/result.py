"""Data and files of a reply as `structured_results`, and a reply as the host's output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rasa.agents.constants import (
    A2A_AGENT_CONTEXT_ID_KEY,
    A2A_AGENT_TASK_ID_KEY,
    AGENT_METADATA_AGENT_RESPONSE_KEY,
    AGENT_METADATA_RESTARTED_KEY,
    AGENT_METADATA_RESUMED_AFTER_INTERRUPTION,
    AGENT_METADATA_STRUCTURED_RESULTS_KEY,
)

from rasa_react_ext.a2a_wire import structured_entries
from rasa_react_ext.host.arrival import MEMORY_KEY

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.a2a_wire import Task

__all__ = ["output_metadata", "structured_results"]

_OF_ONE_TURN = frozenset(
    {
        AGENT_METADATA_STRUCTURED_RESULTS_KEY,
        AGENT_METADATA_AGENT_RESPONSE_KEY,
        AGENT_METADATA_RESTARTED_KEY,
        AGENT_METADATA_RESUMED_AFTER_INTERRUPTION,
        A2A_AGENT_TASK_ID_KEY,
    }
)


def structured_results(agent_input: AgentInput, task: Task) -> list[list[dict[str, Any]]] | None:
    """Data and files of a task behind those of earlier turns; None if there are none.

    The status message counts as one more artifact where it holds data or files.
    """
    groups = [list(artifact.parts) for artifact in task.artifacts]
    if task.status.HasField("message"):
        parts = list(task.status.message.parts)
        if any(not part.HasField("text") for part in parts):
            groups.append(parts)
    if not groups:
        return None
    earlier = (agent_input.metadata or {}).get(AGENT_METADATA_STRUCTURED_RESULTS_KEY) or []
    return [*earlier, structured_entries(agent_input.id, groups)]


def output_metadata(
    agent_input: AgentInput, given: Mapping[str, Any], memory: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Metadata of an output: the input's lasting keys, ids of the reply, our memory."""
    lasting = {
        key: value for key, value in (agent_input.metadata or {}).items() if key not in _OF_ONE_TURN
    }
    context = {A2A_AGENT_CONTEXT_ID_KEY: lasting.get(A2A_AGENT_CONTEXT_ID_KEY)}
    metadata = {**lasting, **context, **given}
    if memory:
        metadata[MEMORY_KEY] = dict(memory)
    return {key: value for key, value in metadata.items() if value is not None}
