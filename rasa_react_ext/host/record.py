"""What a run did, as the host's tracker events (design D10).

Names and metadata keys are the host's, so that inspector, analytics and e2e
tests see no difference. Events are appended in the order in which things happen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog
from rasa.agents.protocol.mcp.mcp_base_agent import MCPBaseAgent
from rasa.core.actions.constants import STREAMED_RESPONSE_TEXT_DELIVERED_KEY
from rasa.shared.core.events import BotUttered, Event, McpToolExecuted, SlotSet

from rasa_react_ext.engine.occurrence import (
    CallFinished,
    ModelFailed,
    Occurrence,
    RunEnded,
    Spoke,
)
from rasa_react_ext.engine.occurrence import (
    SlotSet as SlotChange,
)

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.host.agent import ReActAgent
    from rasa_react_ext.host.delivery import Delivery

__all__ = ["TrackerRecord"]

_MESSAGE_TYPES = {
    "filler": "filler_message",
    "final_response": "final_response",
    "input_required": "input_required",
}
_log = structlog.get_logger()


class TrackerRecord:
    """Collects tracker events of one agent turn (an engine `Observer`).

    Args:
        agent: The agent.
        agent_input: The input of the turn.
        agent_id: The host's identifier of the agent.
        turn: Id of the turn.
        delivery: How texts reach the user.
        beside: Events that Python tools returned beside their results, by call id.
    """

    def __init__(
        self,
        agent: ReActAgent,
        agent_input: AgentInput,
        agent_id: str,
        *,
        turn: str,
        delivery: Delivery,
        beside: Mapping[str, Sequence[Event]],
    ) -> None:
        self.events: list[Event] = []
        self._agent = agent
        self._input = agent_input
        self._agent_id = agent_id
        self._turn = turn
        self._delivery = delivery
        self._beside = beside

    def extend(self, events: Sequence[Event]) -> None:
        """Add events that a user's hook returned."""
        self.events.extend(events)

    def on(self, occurrence: Occurrence) -> None:
        """Take note of one occurrence."""
        if isinstance(occurrence, Spoke):
            self._spoke(occurrence)
        elif isinstance(occurrence, CallFinished):
            self._call_finished(occurrence)
        elif isinstance(occurrence, SlotChange):
            self.events.append(SlotSet(occurrence.name, occurrence.value))
        elif isinstance(occurrence, ModelFailed):
            self._model_failed(occurrence)
        elif isinstance(occurrence, RunEnded) and occurrence.reason:
            self._ended(occurrence)

    def _spoke(self, spoke: Spoke) -> None:
        if not self._delivery.possible:
            return
        self._delivery.note_filler(spoke.text, is_filler=spoke.kind == "filler")
        event = self._uttered(spoke)
        if spoke.streamed:
            event.metadata[STREAMED_RESPONSE_TEXT_DELIVERED_KEY] = True
        self.events.append(event)

    def _uttered(self, spoke: Spoke) -> BotUttered:
        """The event of the user's hook; the default one where that fails, for the text was seen."""
        kind, answer = _MESSAGE_TYPES[spoke.kind], spoke.answer
        given = (spoke.text, self._input, kind, answer.first_token_ms, answer.total_ms)
        try:
            event = self._agent.create_bot_uttered(*given)
            if isinstance(event, BotUttered):
                return event
            problem = f"it returned {type(event).__name__} instead of BotUttered"
        except Exception as error:  # noqa: BLE001 - hooks are users' code
            problem = f"{type(error).__name__}: {error}"
        _log.error(
            "rasa_react_ext.hook.create_bot_uttered_failed",
            agent_name=self._input.id,
            error=problem,
            event_info=(
                f"create_bot_uttered of agent {self._input.id!r} failed: {problem}. The text is "
                "recorded in the default form."
            ),
        )
        return MCPBaseAgent.create_bot_uttered(self._agent, *given)

    def _call_finished(self, finished: CallFinished) -> None:
        call = finished.call
        if not call.is_tool or call.tool is None:
            return
        result = finished.result
        metadata: dict[str, Any] = {
            "agent_id": self._agent_id,
            "tool_call_id": call.id,
            "tool_batch_id": f"{self._turn}/{finished.batch}",
        }
        if finished.duration_ms is not None:
            metadata["duration_ms"] = round(finished.duration_ms, 1)
        self.events.append(
            McpToolExecuted(
                tool_name=call.tool.origin_name or call.tool.name,
                arguments=dict(call.arguments),
                result=None if result.is_error else result.full_text,
                is_error=result.is_error,
                error_message=result.full_text if result.is_error else None,
                metadata=metadata,
            )
        )
        self.events.extend(self._beside.get(call.id, ()))

    def _model_failed(self, failed: ModelFailed) -> None:
        again = (
            f"It is asked again in {failed.retry_in_seconds:g} s."
            if failed.retry_in_seconds is not None
            else "The turn ends without it."
        )
        _log.warning(
            "rasa_react_ext.model.failed",
            agent_name=self._input.id,
            kind=failed.kind,
            error=failed.message,
            event_info=f"The model of agent {self._input.id!r} failed ({failed.kind}). {again}",
        )

    def _ended(self, ended: RunEnded) -> None:
        _log.warning(
            "rasa_react_ext.turn.ended_early",
            agent_name=self._input.id,
            outcome=ended.outcome.value,
            model_calls=ended.model_calls,
            tokens=ended.tokens,
            event_info=f"Agent {self._input.id!r}: {ended.reason}",
        )
