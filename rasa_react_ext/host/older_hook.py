"""`process_output`, which the first samples of the host used and projects still have."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import structlog
from rasa.agents.core.types import AgentStatus
from rasa.agents.schemas import AgentOutput

if TYPE_CHECKING:
    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["through_process_output"]

_log = structlog.get_logger()


async def through_process_output(agent: ReActAgent, output: AgentOutput) -> AgentOutput:
    """The output after the class's own `process_output`, where it has one.

    A hook that raises or returns something else fails the turn; its events are kept.
    """
    hook = getattr(agent, "process_output", None)
    if hook is None:
        return output
    try:
        changed = hook(output)
        changed = await changed if inspect.isawaitable(changed) else changed
        if not isinstance(changed, AgentOutput):
            raise TypeError(f"it returned {type(changed).__name__} instead of AgentOutput")
    except Exception as error:  # noqa: BLE001 - hooks are users' code
        _log.error(
            "rasa_react_ext.hook.process_output_failed",
            agent_name=agent.name,
            error=f"{type(error).__name__}: {error}",
            event_info=f"process_output of agent {agent.name!r} failed: {error}",
        )
        failed = {"status": AgentStatus.FATAL_ERROR, "error_message": f"process_output: {error}"}
        return output.model_copy(update=failed)
    return changed
