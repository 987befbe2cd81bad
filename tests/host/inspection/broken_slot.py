"""Mistakes in the slots of the domain."""

from __future__ import annotations

from tests.host.inspection.mistake import Broken

DAY = "  appointment_day:\n    type: text\n    mappings:\n      - type: from_llm"

SLOTS = {
    "a misspelt type of a slot": Broken(
        file="domain.yml",
        old="type: float",
        new="type: floot",
        line="floot",
        key="slots: investment_amount: type",
        problem="no type of slot 'floot'",
        fix="'float'",
    ),
    "a type of a slot that there is not": Broken(
        file="domain.yml",
        old="type: float",
        new="type: number",
        line="number",
        key="slots: investment_amount: type",
        problem="no type of slot 'number'",
        fix="float",
    ),
    "a class of a slot that cannot be imported": Broken(
        file="domain.yml",
        old="type: float",
        new="type: nowhere.Amount",
        line="nowhere.Amount",
        key="slots: investment_amount: type",
        problem="cannot be imported",
        fix="full name of a class",
    ),
    "a misspelt key of a slot": Broken(
        file="domain.yml",
        old="    values:",
        new="    valuees:",
        line="valuees",
        key="slots: advisor_topic: valuees",
        problem="unknown",
        fix="'values'",
    ),
    "a key that slots of another type have": Broken(
        file="domain.yml",
        old="type: bool",
        new="type: bool\n    min_value: 0",
        line="min_value: 0",
        key="slots: appointment_by_phone: min_value",
        problem="unknown",
        fix="initial_value",
    ),
    "a misspelt type of a mapping": Broken(
        file="domain.yml",
        old=DAY,
        new=DAY.replace("from_llm", "from_lm"),
        line="from_lm",
        key="slots: appointment_day: mappings: 0: type",
        problem="no mapping of the type 'from_lm'",
        fix="'from_llm'",
    ),
    "a type of a mapping that there is not": Broken(
        file="domain.yml",
        old=DAY,
        new=DAY.replace("from_llm", "telepathy"),
        line="telepathy",
        key="slots: appointment_day: mappings: 0: type",
        problem="no mapping of the type 'telepathy'",
        fix="controlled",
    ),
    "a misspelt key of a mapping": Broken(
        file="domain.yml",
        old=DAY,
        new=DAY.replace("- type", "- typ"),
        line="- typ:",
        key="slots: appointment_day: mappings: 0: typ",
        problem="unknown",
        fix="'type'",
    ),
    "a mapping that lacks what it needs": Broken(
        file="domain.yml",
        old=DAY,
        new=DAY.replace("from_llm", "from_entity"),
        line="appointment_day:",
        key="slots: appointment_day",
        problem="'entity'",
        fix="",
    ),
}
