"""The slots of a task: which a model may set, what survives hooks and the host's wipe."""

from __future__ import annotations

from typing import Any

import pytest
from rasa.agents.schemas import AgentInput
from rasa.agents.schemas.agent_input import AgentInputSlot

from rasa_react_ext.host.exit_slot import ExitSlots, fillable

pytestmark = pytest.mark.host

CONDITIONS = ["slots.topic is not null", "slots.amount > 10"]


def _input(*slots: AgentInputSlot, restarted: bool = False, exit_if: bool = True) -> AgentInput:
    metadata: dict[str, Any] = {"restarted": True} if restarted else {}
    if exit_if:
        metadata["exit_if"] = CONDITIONS
    return AgentInput(
        id="desk",
        user_message="Hello",
        slots=list(slots),
        conversation_history="",
        events=[],
        metadata=metadata,
    )


def _slot(name: str, value: Any = None, kind: str = "text") -> AgentInputSlot:
    return AgentInputSlot(name=name, value=value, type=kind)


@pytest.mark.parametrize(
    ("kind", "mappings", "expected"),
    [
        ("text", [{"type": "from_llm"}], True),
        ("float", None, True),
        ("text", [{"type": "controlled"}], False),
        ("custom_slots.Money", [{"type": "from_llm"}], False),
    ],
)
def test_d3_4_a_model_may_set_slots_of_known_type_that_their_mappings_allow(
    kind: str, mappings: list[dict[str, Any]] | None, expected: bool
) -> None:
    assert fillable(kind, mappings) is expected


def test_d3_4_a_slot_that_a_hook_removed_keeps_its_value_for_the_condition() -> None:
    slots = ExitSlots(_input(_slot("topic")), [_slot("topic"), _slot("amount", 5.0, "float")])
    assert slots.values() == {"topic": None, "amount": 5.0}
    assert {slot.name for slot in slots.with_input().slots} == {"topic", "amount"}


def test_d3_3_a_wiped_slot_gets_its_value_back_with_an_event() -> None:
    agent_input = _input(_slot("topic"), _slot("amount", 7.0, "float"), restarted=True)
    slots = ExitSlots(agent_input, [])
    events = slots.restore({"topic": "tax", "amount": 3.0})
    assert [(event.key, event.value) for event in events] == [("topic", "tax")]
    assert slots.values() == {"topic": "tax", "amount": 7.0}
    assert agent_input.slots[0].value == "tax"


def test_d3_3_nothing_is_restored_in_a_run_that_was_not_restarted() -> None:
    slots = ExitSlots(_input(_slot("topic")), [])
    assert slots.restore({"topic": "tax"}) == []
    assert slots.values() == {"topic": None}


def test_a_step_without_exit_conditions_has_no_exit_slots() -> None:
    slots = ExitSlots(_input(_slot("topic", "tax"), exit_if=False), [])
    assert slots.conditions == []
    assert slots.values() == {"topic": "tax"}
