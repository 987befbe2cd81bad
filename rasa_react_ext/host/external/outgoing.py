"""The message that a turn sends, narrowed to what may be shared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rasa.agents.constants import (
    A2A_AGENT_CONTEXT_ID_KEY,
    A2A_AGENT_TASK_ID_KEY,
    AGENT_METADATA_AGENT_RESPONSE_KEY,
    AGENT_METADATA_EXIT_IF_KEY,
    AGENT_METADATA_RESUMED_AFTER_INTERRUPTION,
    AGENT_METADATA_STRUCTURED_RESULTS_KEY,
)
from rasa.core.constants import (
    ACTIVE_FLOW_METADATA_KEY,
    BOT_UTTERANCE_AGENT_MESSAGE_TIMESTAMP_KEY,
    BOT_UTTERANCE_AGENT_MESSAGE_TYPE_KEY,
    BOT_UTTERANCE_AGENT_NAME_KEY,
    BOT_UTTERANCE_MESSAGE_ID_KEY,
    STEP_ID_METADATA_KEY,
    UTTER_SOURCE_METADATA_KEY,
)
from rasa.shared.agents.outbound_call_hook import (
    invoke_a2a_call_hook,
    load_call_hook,
    merge_call_metadata,
)

from rasa_react_ext.a2a_wire import Message, outbound_message
from rasa_react_ext.host.arrival import MEMORY_KEY

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.host.external.agent import ExternalAgent
    from rasa_react_ext.host.settings import ShareSettings

__all__ = ["PRIVATE_KEYS", "compose"]

PRIVATE_KEYS = frozenset(
    {
        MEMORY_KEY,
        AGENT_METADATA_STRUCTURED_RESULTS_KEY,
        AGENT_METADATA_AGENT_RESPONSE_KEY,
        AGENT_METADATA_EXIT_IF_KEY,
        ACTIVE_FLOW_METADATA_KEY,
        STEP_ID_METADATA_KEY,
        BOT_UTTERANCE_AGENT_NAME_KEY,
        BOT_UTTERANCE_AGENT_MESSAGE_TYPE_KEY,
        BOT_UTTERANCE_AGENT_MESSAGE_TIMESTAMP_KEY,
        BOT_UTTERANCE_MESSAGE_ID_KEY,
        UTTER_SOURCE_METADATA_KEY,
    }
)
"""Working keys of the host and of this package that no remote agent is told."""


async def compose(agent: ExternalAgent, agent_input: AgentInput, *, first: bool) -> Message:
    """The message for one turn.

    Args:
        agent: The agent.
        agent_input: What users' `process_input` made of the host's input.
        first: Whether this is the first message of a run.

    Raises:
        OutboundCallHookError: The `pre_call_hook` failed; nothing may be sent then.
        ValueError: A value is no JSON.
    """
    metadata = agent_input.metadata or {}
    share = agent.settings.share
    return outbound_message(
        _text(agent_input, share, first=first),
        slots=_slots(agent_input, share),
        metadata=await _metadata(agent, agent_input, share),
        context_id=str(metadata.get(A2A_AGENT_CONTEXT_ID_KEY) or ""),
        task_id=str(metadata.get(A2A_AGENT_TASK_ID_KEY) or ""),
    )


def _text(agent_input: AgentInput, share: ShareSettings | None, *, first: bool) -> str:
    """The user's words; the conversation where the agent cannot know it."""
    history = (share.history if share is not None else None) or "resumed"
    resumed = bool((agent_input.metadata or {}).get(AGENT_METADATA_RESUMED_AFTER_INTERRUPTION))
    wanted = (resumed and history != "never") or (first and history == "first")
    if wanted and agent_input.conversation_history:
        return agent_input.conversation_history
    return agent_input.user_message


def _slots(agent_input: AgentInput, share: ShareSettings | None) -> dict[str, Any]:
    allowed = share.slots if share is not None else None
    return {
        slot.name: slot.value
        for slot in agent_input.slots
        if slot.value is not None and (allowed is None or slot.name in allowed)
    }


async def _metadata(
    agent: ExternalAgent, agent_input: AgentInput, share: ShareSettings | None
) -> Mapping[str, Any]:
    """Metadata of the input and of the hook; values of the hook are kept nowhere else."""
    allowed = share.metadata if share is not None else None
    shared = {
        key: value
        for key, value in (agent_input.metadata or {}).items()
        if key not in PRIVATE_KEYS and (allowed is None or key in allowed)
    }
    if agent.pre_call_hook is None:
        return shared
    context = agent.build_a2a_outbound_call_context(agent_input)
    result = await invoke_a2a_call_hook(load_call_hook(agent.pre_call_hook), context)
    return merge_call_metadata(shared, result)
