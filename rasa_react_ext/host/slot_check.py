"""The domain's validation of slots, as reasons a model can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rasa.shared.core.slots import SlotValidation

from rasa_react_ext.host.condition import ExitConditions

if TYPE_CHECKING:
    from rasa.shared.core.domain import Domain
    from rasa.shared.core.slots import SlotRejection

__all__ = ["slot_checks"]


def slot_checks(domain: Domain) -> Mapping[str, Callable[[Any], str | None]]:
    """A check for every slot that has `validation: rejections:` in the domain."""
    return {
        slot.name: _check(slot.name, slot.validation.rejections, domain)
        for slot in domain.slots
        if isinstance(slot.validation, SlotValidation)
    }


def _check(
    slot: str, rules: Sequence[SlotRejection], domain: Domain
) -> Callable[[Any], str | None]:
    rejections = [(ExitConditions([rule.if_], slot), _reason(rule, domain)) for rule in rules]

    def check(value: Any) -> str | None:
        for rejected, reason in rejections:
            if rejected({slot: value}):
                return reason
        return None

    return check


def _reason(rejection: SlotRejection, domain: Domain) -> str:
    """What the assistant would say, else the condition itself."""
    texts = [variation.get("text") for variation in domain.responses.get(rejection.utter, [])]
    said = next((text for text in texts if text), None)
    return said or f"the value must not be one for which {rejection.if_!r} holds."
