"""The task's state after a turn, derived from the dialogue stack and the turn's events.

The documented priority holds. Where a pattern has run to its end within the turn, its
frame is gone, so the events tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rasa.dialogue_understanding.patterns.cancel import CancelPatternFlowStackFrame
from rasa.dialogue_understanding.patterns.cannot_handle import CannotHandlePatternFlowStackFrame
from rasa.dialogue_understanding.patterns.completed import CompletedPatternFlowStackFrame
from rasa.dialogue_understanding.patterns.continue_interrupted import (
    ContinueInterruptedPatternFlowStackFrame,
)
from rasa.dialogue_understanding.patterns.internal_error import InternalErrorPatternFlowStackFrame
from rasa.dialogue_understanding.stack.frames.flow_stack_frame import AgentStackFrame, AgentState
from rasa.dialogue_understanding.stack.utils import (
    get_active_pattern_frame,
    is_pattern_active,
    user_flows_on_the_stack,
)
from rasa.shared.constants import RASA_DEFAULT_FLOW_PATTERN_PREFIX
from rasa.shared.core.constants import ACTION_AGENT_REQUEST_USER_INPUT_NAME, ACTION_LISTEN_NAME
from rasa.shared.core.events import (
    Event,
    FlowCancelled,
    FlowCompleted,
    FlowInterrupted,
    FlowStarted,
)
from rasa.shared.core.trackers import DialogueStateTracker

from rasa_react_ext.a2a_wire import State

__all__ = ["Outcome", "outcome_of"]

LISTENING = {ACTION_LISTEN_NAME, ACTION_AGENT_REQUEST_USER_INPUT_NAME}
ASKING = {AgentState.WAITING_FOR_INPUT, AgentState.WAITING_FOR_INPUT_FROM_PUSH_NOTIFICATION}
SHOWN_INFO = ("agent_name", "error_source", "flow_id", "max_characters", "step_id", "tool_name")
"""Facts of an internal error that callers are told; never texts of exceptions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a turn ended.

    Attributes:
        state: The task's state.
        flow_id: The user flow that completed in this turn, if that is the outcome.
        facts: What the data part says besides, as documented for the state.
    """

    state: State
    flow_id: str | None = None
    facts: dict[str, Any]


def outcome_of(tracker: DialogueStateTracker, events: Sequence[Event], *, repair: bool) -> Outcome:
    """Derive the state.

    Args:
        tracker: The dialogue after the turn.
        events: The events of the turn.
        repair: Whether repair patterns are advertised, so that they may ask the user.
    """
    turn = _Turn(tracker, events)
    return (
        turn.rejected()
        or turn.failed()
        or turn.canceled()
        or turn.working()
        or turn.completed(repair=repair)
        or turn.waiting()
    )


class _Turn:
    def __init__(self, tracker: DialogueStateTracker, events: Sequence[Event]) -> None:
        self._stack = tracker.stack
        self._events = events
        self._flows = user_flows_on_the_stack(tracker.stack)
        self._listens = tracker.latest_action_name in LISTENING
        self._latest_action = tracker.latest_action_name

    def rejected(self) -> Outcome | None:
        """The assistant cannot handle this: no flow of the user's is under way either."""
        facts = self._pattern(CannotHandlePatternFlowStackFrame)
        if facts is None or self._flows or self._last_flow() is not None:
            return None
        return Outcome(state=State.REJECTED, facts=_some(reason=facts.get("reason")))

    def failed(self) -> Outcome | None:
        facts = self._pattern(InternalErrorPatternFlowStackFrame)
        if facts is None:
            return None
        info = facts.get("info") or {}
        shown = {key: info[key] for key in SHOWN_INFO if key in info}
        error_type = facts.get("error_type") or "internal_error"
        return Outcome(
            state=State.FAILED, facts=_some(error_type=error_type, error_info=shown or None)
        )

    def canceled(self) -> Outcome | None:
        """The user's flow was cancelled, and none is left."""
        frame = get_active_pattern_frame(self._stack, CancelPatternFlowStackFrame)
        last = self._last_flow()
        if frame is None and (self._flows or not isinstance(last, FlowCancelled)):
            return None
        facts = self._pattern(CancelPatternFlowStackFrame) or {}
        name = facts.get("canceled_name") or getattr(last, "flow_id", None)
        return Outcome(
            state=State.CANCELED,
            facts=_some(canceled_name=name, canceled_frames=facts.get("canceled_frames")),
        )

    def working(self) -> Outcome | None:
        """A sub agent works in the background."""
        top = self._stack.top()
        if isinstance(top, AgentStackFrame) and top.is_busy():
            return Outcome(state=State.WORKING, facts={"active_flow": top.flow_id})
        return None

    def completed(self, *, repair: bool) -> Outcome | None:
        if self._flows:
            return None
        last = self._last_flow()
        done = last.flow_id if isinstance(last, FlowCompleted) else None
        finished = Outcome(state=State.COMPLETED, flow_id=done, facts={})
        interrupted = any(isinstance(event, FlowInterrupted) for event in self._events)
        asks = is_pattern_active(self._stack, ContinueInterruptedPatternFlowStackFrame)
        if self._listens and done is not None and not interrupted and not asks:
            return finished
        if not is_pattern_active(self._stack, CompletedPatternFlowStackFrame):
            return None
        return None if repair and self._listens and done is None else finished

    def waiting(self) -> Outcome:
        top = self._stack.top()
        # A question that an agent reported is asked without the host's listening.
        asked = isinstance(top, AgentStackFrame) and top.state in ASKING
        if self._listens or asked:
            return Outcome(state=State.INPUT_REQUIRED, facts={})
        return Outcome(
            state=State.FAILED,
            facts=_some(
                error_type="turn_incomplete", error_info={"latest_action": self._latest_action}
            ),
        )

    def _pattern(self, kind: Any) -> dict[str, Any] | None:
        """Facts of a pattern that is on the stack or ran in this turn; None if neither."""
        frame = get_active_pattern_frame(self._stack, kind)
        if frame is not None:
            return frame.as_dict()
        for event in reversed(self._events):
            if isinstance(event, FlowStarted) and event.flow_id == kind.type():
                return dict(event.metadata or {})
        return None

    def _last_flow(self) -> Event | None:
        """The last beginning or end of a user's flow in this turn.

        The host says of a cancelled flow that it completed, too.
        """
        last: Event | None = None
        cancelled: set[str] = set()
        for event in self._events:
            if isinstance(event, FlowStarted | FlowCompleted | FlowCancelled):
                if event.flow_id.startswith(RASA_DEFAULT_FLOW_PATTERN_PREFIX):
                    continue
                if isinstance(event, FlowCancelled):
                    cancelled.add(event.flow_id)
                elif isinstance(event, FlowStarted):
                    cancelled.discard(event.flow_id)
                elif event.flow_id in cancelled:
                    continue
                last = event
        return last


def _some(**facts: Any) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}
