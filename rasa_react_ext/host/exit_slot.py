"""The slots a task-specific run fills: kept from hooks, restored, turned into rules.

Source: the documented `exit_if` of a call step; design D3.3 and D3.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rasa.shared.core.events import SlotSet
from rasa.shared.core.slot_mappings import slot_mappings_allow_llm_fill

from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.conversation import last_values

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput
    from rasa.agents.schemas.agent_input import AgentInputSlot

    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["ExitSlots", "fillable"]


def fillable(slot_type: str, mappings: Any) -> bool:
    """Whether a model may set a slot: its mappings allow it and its type is known."""
    known = SlotSpec(name="", type=slot_type).known
    return known and bool(slot_mappings_allow_llm_fill(mappings))


class ExitSlots:
    """The slots of a step's exit conditions, for one turn; none for other steps.

    Attributes:
        conditions: The conditions of the step.
    """

    def __init__(self, agent_input: AgentInput, kept: Sequence[AgentInputSlot]) -> None:
        """Take the slots from the input.

        Args:
            agent_input: The input as users' hooks left it.
            kept: The slots as the host sent them, which a hook may have removed.
        """
        self.conditions = list(agent_input.metadata.get("exit_if") or ())
        self._input = agent_input
        present = {slot.name: slot for slot in agent_input.slots}
        named = {slot.name: slot for slot in kept}
        self._slots = [
            present.get(name) or named[name]
            for name in slot_names(self.conditions)
            if name in present or name in named
        ]

    def restore(self, remembered: Mapping[str, Any]) -> list[SlotSet]:
        """Undo the host's wipe in later turns of a restarted run; returns the events.

        A value that was changed since is left alone, or restored if it was wiped as well.
        """
        if not self._input.metadata.get("restarted"):
            return []
        slots = (*self._slots, *self._input.slots)
        wiped = {slot.name for slot in slots if slot.value is None}
        since = last_values(self._input.events, remembered)
        newest = {name: since.get(name, value) for name, value in remembered.items()}
        restored = {
            name: value for name, value in newest.items() if name in wiped and value is not None
        }
        for slot in slots:
            slot.value = restored.get(slot.name, slot.value)
        return [SlotSet(name, value) for name, value in restored.items()]

    def values(self) -> dict[str, Any]:
        """Values of these and of all other slots of the input."""
        return {slot.name: slot.value for slot in (*self._slots, *self._input.slots)}

    def with_input(self) -> AgentInput:
        """An input that holds these slots too, for hooks that look them up by name."""
        present = {slot.name for slot in self._input.slots}
        missing = [slot for slot in self._slots if slot.name not in present]
        if not missing:
            return self._input
        return self._input.model_copy(update={"slots": [*self._input.slots, *missing]})

    def specs(
        self, agent: ReActAgent, built_in: Sequence[Mapping[str, Any]]
    ) -> dict[str, SlotSpec]:
        """Slot of each built-in tool that is offered, by the tool's name."""
        offered = {definition["function"]["name"] for definition in built_in}
        specs: dict[str, SlotSpec] = {}
        for slot in self._slots:
            name = agent.get_slot_specific_set_slot_tool(slot)["function"]["name"]
            if name in offered:
                specs[name] = SlotSpec(
                    name=slot.name,
                    type=slot.type,
                    allowed_values=tuple(slot.allowed_values or ()),
                    check=agent.slot_checks.get(slot.name),
                )
        return specs
