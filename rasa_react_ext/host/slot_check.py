"""The domain's validation of slots, as reasons a model can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rasa_react_ext.host.condition import ExitConditions

if TYPE_CHECKING:
    from rasa.shared.core.domain import Domain
    from rasa.shared.core.slots import Slot, SlotRejection

__all__ = ["slot_checks"]


def slot_checks(domain: Domain) -> Mapping[str, Callable[[Any], str | None]]:
    """A check for every slot that has `validation: rejections:` in the domain."""
    return {
        slot.name: _check(slot, domain)
        for slot in domain.slots
        if slot.validation and slot.validation.rejections
    }


def _check(slot: Slot, domain: Domain) -> Callable[[Any], str | None]:
    rejections = [
        (ExitConditions([rejection.if_], slot.name), _reason(rejection, domain))
        for rejection in slot.validation.rejections
    ]

    def check(value: Any) -> str | None:
        for rejected, reason in rejections:
            if rejected({slot.name: value}):
                return reason
        return None

    return check


def _reason(rejection: SlotRejection, domain: Domain) -> str:
    """What the assistant would say, else the condition itself."""
    texts = [variation.get("text") for variation in domain.responses.get(rejection.utter, [])]
    said = next((text for text in texts if text), None)
    return said or f"the value must not be one for which {rejection.if_!r} holds."
