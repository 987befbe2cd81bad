"""What form a part of a file must have, from the schema that refused it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["wanted_form"]

_FORMS = {
    "array": ("a list", "one entry per line, each after a dash"),
    "object": ("keys with values", "each key with a colon, indented below it"),
    "string": ("a text", "in quotes where it looks like another kind"),
    "boolean": ("true or false", "without quotes"),
    "integer": ("a whole number", "such as 10"),
    "number": ("a number", "such as 10 or 2.5"),
    "null": ("nothing", "the key alone"),
}
_HAS_FORM = ((list, "array"), (dict, "object"), (str, "string"))
_ENTRIES = {"exit_if": "conditions", "steps": "steps", "set_slots": "slots"}
"""What the lists hold that people write most often in another form."""


def wanted_form(error: BaseException, path: Sequence[str]) -> str:
    """What to write at a place, empty where its schema does not tell.

    Args:
        error: The refusal; the fault that the schema found is what it came from.
        path: The place.
    """
    fault = error.__cause__ or error.__context__
    kinds = list(dict.fromkeys(_kinds(getattr(fault, "schema", None))))
    if getattr(fault, "validator", "") not in {"type", "anyOf", "oneOf"} or not kinds:
        return ""
    given = getattr(fault, "instance", None)
    if any(isinstance(given, python) and kind in kinds for python, kind in _HAS_FORM):
        return ""  # the form is right, what is in it is not
    if len(kinds) > 1:
        return f"Write {' or '.join(_FORMS[kind][0] for kind in kinds)} there."
    form, how = _FORMS[kinds[0]]
    if kinds[0] == "array" and path and path[-1] in _ENTRIES:
        form = f"a list of {_ENTRIES[path[-1]]}"
    return f"Write {form}: {how}."


def _kinds(schema: Any) -> list[str]:
    """Names of the forms that a schema allows, as schemas name them."""
    if not isinstance(schema, Mapping):
        return []
    named = schema.get("type", [])
    kinds = [named] if isinstance(named, str) else list(named)
    for choice in ("anyOf", "oneOf"):
        for other in schema.get(choice, ()) if not kinds else ():
            kinds += _kinds(other)
    return [kind for kind in kinds if kind in _FORMS]
