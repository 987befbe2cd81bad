"""What has changed in a conversation: flows, agents and slots, told once each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rasa.shared.core.constants import SLOTS_EXCLUDED_FOR_AGENT

from rasa_react_ext.host.observe.redaction import Redaction
from rasa_react_ext.testing.transcript import Transcript

if TYPE_CHECKING:
    from rasa.shared.core.trackers import DialogueStateTracker

    from rasa_react_ext.host.terminal.view import View

__all__ = ["Progress", "shown_slots"]

_HOST_SLOTS = SLOTS_EXCLUDED_FOR_AGENT | {"language", "max_clarification_options"}
_KINDS = {"flow", "agent"}


class Progress:
    """Tells a view what is new in a conversation since it was last told."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._seen = 0
        self._slots: dict[str, Any] = {}
        self._transcript = Transcript()
        self._agents: dict[str, str] = {}

    def tell(self, tracker: DialogueStateTracker) -> None:
        """Show what is new; texts and tools were shown while they came."""
        events = [event.as_dict() for event in tracker.events]
        # A restarted conversation begins with an empty list.
        seen, self._seen = self._seen if self._seen <= len(events) else 0, len(events)
        for line in self._transcript.lines(self._completed(events[seen:])):
            if line.kind in _KINDS:
                self._view.progress(line.text)
        slots = _own_slots(tracker)
        changed = {n: value for n, value in slots.items() if self._slots.get(n) != value}
        for name, value in Redaction().value(changed).items():
            self._view.slot(name, value)
        self._slots = slots

    def _completed(self, events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        """With the end of agents that the host does not record: interrupted, then cancelled."""
        for event in events:
            kind, agent = event.get("event"), str(event.get("agent_id"))
            if kind == "agent_started":
                self._agents[agent] = str(event.get("flow_id"))
            elif kind in {"agent_completed", "agent_cancelled"}:
                if self._agents.pop(agent, None) is None and kind == "agent_cancelled":
                    continue
            elif kind == "flow_cancelled":
                for name in [a for a, flow in self._agents.items() if flow == event["flow_id"]]:
                    del self._agents[name]
                    yield {"event": "agent_cancelled", "agent_id": name}
            yield event


def shown_slots(tracker: DialogueStateTracker) -> dict[str, Any]:
    """Slots that have a value, without the host's own and without secrets."""
    slots: dict[str, Any] = Redaction().value(_own_slots(tracker))
    return slots


def _own_slots(tracker: DialogueStateTracker) -> dict[str, Any]:
    return {
        name: value
        for name, value in tracker.current_slot_values().items()
        if value is not None and name not in _HOST_SLOTS
    }
