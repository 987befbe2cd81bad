"""Checks on the slots of a domain: their types, keys and mappings."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from rasa.shared.core.constants import SlotMappingType
from rasa.shared.core.slot_mappings import SlotMapping
from rasa.shared.core.slots import Slot
from rasa.shared.utils.common import all_subclasses

from rasa_react_ext.explain.setting import meant
from rasa_react_ext.host.inspection.class_path import class_at
from rasa_react_ext.host.inspection.draft import NEAR, Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["check_slots"]

_KEYS = {"allow_llm_set", "type"}
_MAPPINGS = {str(kind) for kind in SlotMappingType}
_OLDER_MAPPING = "custom"


def check_slots(draft: Draft) -> None:
    """Look at every slot.

    Args:
        draft: A file of the domain.
    """
    slots = draft.at("slots")
    for name, slot in slots.items() if isinstance(slots, dict) else ():
        if isinstance(slot, dict):
            _check_slot(draft, ["slots", str(name)])


def _check_slot(draft: Draft, place: Sequence[str]) -> None:
    draft.keys(place, {"type"}, cutoff=NEAR, only=False)
    kind = draft.at(*place, "type")
    found = _class(draft, [*place, "type"], kind) if isinstance(kind, str) else None
    if found is not None:
        allowed, others = _keys_of(found)
        draft.keys(place, allowed, only=not others)
    mappings = draft.at(*place, "mappings")
    for number, mapping in enumerate(mappings if isinstance(mappings, list) else ()):
        if isinstance(mapping, dict):
            _check_mapping(draft, [*place, "mappings", str(number)])


def _keys_of(kind: type) -> tuple[set[str], bool]:
    """Keys that slots of a class take, and whether they take any other."""
    parameters = inspect.signature(kind).parameters.values()
    others = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    return {parameter.name for parameter in parameters} - {"name", "kwargs"} | _KEYS, others


def _class(draft: Draft, place: Sequence[str], kind: str) -> type | None:
    """The class behind a type; None where there is none."""
    named = {str(slot.type_name): slot for slot in all_subclasses(Slot) if slot.type_name}
    if kind in named:
        return named[kind]
    problem, right = f"there is no type of slot {kind!r}.", meant(kind, named)
    if "." in kind:
        found, problem, right = class_at(kind, Slot)
        if found is not None:
            return found
    advice = f"Write {', '.join(sorted(named))}, or the full name of a class of yours."
    fix = f"Did you mean {right!r}?" if right else advice
    keys = set(draft.at(*place[:-1]))
    fitting = (name for name, owner in sorted(named.items()) if keys <= _keys_of(owner)[0])
    draft.wrong_value(place, problem, fix, right or next(fitting, "any"))
    return None


def _check_mapping(draft: Draft, place: Sequence[str]) -> None:
    draft.keys(place, {*SlotMapping.model_fields, "action"}, cutoff=NEAR, only=False)
    kind = draft.at(*place, "type")
    if kind is None or kind in _MAPPINGS or kind == _OLDER_MAPPING:
        return
    right = meant(str(kind), _MAPPINGS)
    advice = f"Write one of {', '.join(sorted(_MAPPINGS))}."
    fix = f"Did you mean {right!r}?" if right else advice
    problem = f"there is no mapping of the type {str(kind)!r}."
    draft.wrong_value([*place, "type"], problem, fix, right or str(SlotMappingType.FROM_LLM))
