"""Slots across the border: what a caller may bring, and what it is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import structlog
from rasa.dialogue_understanding.commands.set_slot_command import SetSlotCommand
from rasa.dialogue_understanding.stack.utils import top_user_flow_frame
from rasa.shared.core.constants import (
    SLOTS_EXCLUDED_FOR_AGENT,
    SetSlotExtractor,
    SlotMappingType,
)
from rasa.shared.core.domain import Domain
from rasa.shared.core.flows import Flow, FlowsList
from rasa.shared.core.flows.steps.call import CallFlowStep
from rasa.shared.core.slots import InvalidSlotValueError, Slot
from rasa.shared.core.trackers import DialogueStateTracker

__all__ = ["completed_slots", "open_slots", "seed_commands"]

_log = structlog.get_logger()
_NAMED = re.compile(r"\bslots\.(\w+)")
_ABSENT = {"none", "null", "undefined"}


def seed_commands(
    values: Mapping[str, Any], domain: Domain, allowed: Collection[str]
) -> list[dict[str, Any]]:
    """Commands that set what a caller brings along.

    Unknown slots are left out silently, since some callers send all slots they have;
    values that do not fit and controlled slots are left out with a warning.

    Args:
        values: Slot values by name.
        domain: The assistant's domain.
        allowed: Controlled slots that callers may set all the same.
    """
    slots = {slot.name: slot for slot in domain.slots}
    commands: list[dict[str, Any]] = []
    for name, value in values.items():
        slot = slots.get(name)
        if slot is None or slot.is_builtin or name in SLOTS_EXCLUDED_FOR_AGENT:
            continue
        if _is_controlled(slot) and name not in allowed:
            _refuse(name, "it is controlled; list it under `controlled_slots` to allow it")
            continue
        fits, coerced = _coerced(slot, value)
        if not fits:
            _refuse(name, f"its value does not fit a {slot.type_name} slot")
            continue
        command = SetSlotCommand(
            name=name, value=coerced, extractor=SetSlotExtractor.A2A_CLIENT.value
        )
        commands.append(command.as_dict())
    return commands


def open_slots(
    tracker: DialogueStateTracker, flows: FlowsList, allowed: Collection[str]
) -> dict[str, Any]:
    """The active flow and its slots, unset ones included."""
    frames = (
        top_user_flow_frame(tracker.stack),
        top_user_flow_frame(tracker.stack, ignore_call_and_link_frames=False),
    )
    names: set[str] = set()
    for frame in frames:
        flow = flows.flow_by_id(frame.flow_id) if frame is not None else None
        if flow is not None:
            names |= _asked(flow)
    return {
        "active_flow": frames[0].flow_id if frames[0] is not None else None,
        "slots": _shown(tracker, names, allowed),
    }


def completed_slots(
    tracker: DialogueStateTracker, flow: Flow | None, allowed: Collection[str]
) -> dict[str, Any]:
    """What the completed flow leaves behind: its persisted slots.

    They stand under `slots` too, where callers of the host's server look for them.
    """
    names = set(flow.persisted_slots or []) if flow is not None else set()
    shown = {
        name: value for name, value in _shown(tracker, names, allowed).items() if value is not None
    }
    return {
        "active_flow": None,
        "completed_flow": flow.id if flow is not None else None,
        "slots": shown,
        "persisted_slots": shown,
    }


def _asked(flow: Flow) -> set[str]:
    """Slots that a flow collects, or that end one of its agents."""
    names = {step.collect for step in flow.get_collect_steps()}
    for step in flow.steps:
        if isinstance(step, CallFlowStep):
            names.update(_NAMED.findall(" ".join(map(str, step.exit_if or []))))
    return names


def _shown(
    tracker: DialogueStateTracker, names: Iterable[str], allowed: Collection[str]
) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name in sorted(names):
        slot = tracker.slots.get(name)
        if slot is None or (_is_controlled(slot) and name not in allowed):
            continue
        shown[name] = _plain(slot.value)
    return shown


def _is_controlled(slot: Slot) -> bool:
    return any(mapping.type == SlotMappingType.CONTROLLED for mapping in slot.mappings or [])


def _coerced(slot: Slot, value: Any) -> tuple[bool, Any]:
    if isinstance(value, str) and value.lower() in _ABSENT:
        value = None
    if value is None:
        return True, None
    if slot.type_name == "text" and not isinstance(value, str):
        return False, None
    try:
        coerced = slot.coerce_value(value)
    except InvalidSlotValueError:
        return False, None
    return slot.is_valid_value(coerced), coerced


def _plain(value: Any) -> Any:
    """The value as JSON holds it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=str))
    except ValueError:
        return str(value)


def _refuse(name: str, why: str) -> None:
    _log.warning(
        "rasa_react_ext.a2a_server.slot_refused",
        slot=name,
        event_info=f"A caller's value for slot {name!r} was left out: {why}.",
    )
