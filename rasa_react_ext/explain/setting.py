"""Plain words for settings of a wrong form: what is wrong with one, and what to write.

One voice for every file that users write, at training, at start and in `rasa-react check`.
Knows pydantic's errors and no model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from rasa_react_ext.errors import ConfigurationError

__all__ = [
    "MEANT",
    "MISSING",
    "UNKNOWN_KEY",
    "explained",
    "meant",
    "model_error",
    "nearest",
    "refusal",
]

MISSING = "this key is missing."
UNKNOWN_KEY = "this key is unknown."
MEANT = re.compile(r"Did you mean '([^']+)'\?")
_QUOTED = re.compile(r"'([^']*)'")
_KINDS = {
    "bool": ("this must be true or false.", "Write true or false, without quotes."),
    "int": ("this must be a whole number.", "Write a whole number, such as 10."),
    "float": ("this must be a number.", "Write a number, such as 10 or 2.5."),
    "finite": ("this must be a number.", "Write a number, such as 10 or 2.5."),
    "string": ("this must be a text.", "Write a text; in quotes where it looks like another kind."),
    "list": ("this must be a list.", "Write one entry per line, each after a dash."),
    "tuple": ("this must be a list.", "Write one entry per line, each after a dash."),
    "dict": ("this must hold keys.", "Write keys with values below it."),
    "mapping": ("this must hold keys.", "Write keys with values below it."),
    "model": ("this must hold keys.", "Write keys with values below it."),
}
_WHOLE = {
    "missing": (MISSING, "Add it."),
    "string_too_short": ("this is empty.", "Write a value, or remove the key."),
    "too_short": ("there are too few entries.", "Write at least one, or remove the key."),
}
_BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "below"),
    "less_than_equal": ("le", "at most"),
}


def explained(details: Mapping[str, Any], known: Collection[str] = ()) -> tuple[str, str]:
    """What is wrong with a value, and what to do.

    Args:
        details: One of the errors of a model.
        known: Keys that are allowed at its place.
    """
    kind, facts = str(details["type"]), details.get("ctx") or {}
    if kind == "string_pattern_mismatch":
        return f"this does not have the form {facts['pattern']}.", "Write a value of that form."
    if kind == "extra_forbidden":
        keys = f"The keys are: {', '.join(sorted(known))}." if known else "Remove the key."
        return UNKNOWN_KEY, nearest(str(details["loc"][-1]), known) or keys
    if kind in _BOUNDS:
        fact, words = _BOUNDS[kind]
        bound = f"{words} {facts[fact]:g}"
        if isinstance(facts[fact], int):  # a setting for whole numbers
            bound = f"a whole number {bound}"
            return f"this must be {bound}.", f"Write {bound}."
        return f"this must be {bound}.", f"Write a number {bound}."
    if kind in {"literal_error", "enum"}:
        return _choice(str(facts.get("expected", "")), details.get("input"))
    words = str(facts.get("error") or details.get("msg", "")).rstrip(".")
    other = (f"{words}.", "Correct the value.")
    return _WHOLE.get(kind) or _KINDS.get(kind.partition("_")[0]) or other


def _choice(expected: str, given: Any) -> tuple[str, str]:
    choices = _QUOTED.findall(expected)
    switch = {True: "on", False: "off"}.get(given) if isinstance(given, bool) else None
    if switch in choices:  # YAML reads these words as true and false
        return f"this must be the text {switch!r}.", f'Write "{switch}", in quotes.'
    problem = f"this must be one of {', '.join(choices)}."
    return problem, nearest(str(given), choices) or "Write one of them."


def refusal(
    error: ValidationError, model: type[BaseModel], *, file: str, place: str
) -> ConfigurationError:
    """The first error of a model as one of ours, which names file, key and fix.

    Args:
        error: What the model says.
        model: The model.
        file: Where its values were written.
        place: The key in that file below which they stand.
    """
    details = error.errors()[0]
    location = details["loc"]
    problem, fix = explained(dict(details), _keys_at(model, location[:-1]))
    key = ": ".join([place, *map(str, location)])
    return ConfigurationError(file=file, key=key, problem=problem, fix=fix)


def _keys_at(model: type[BaseModel], path: Sequence[int | str]) -> list[str]:
    """Keys allowed at a place; steps that are names given by the user lead nowhere new."""
    place: Any = model
    for step in path:
        if _is_model(place):
            place = place.model_fields[str(step)].annotation
        elif get_origin(place) is dict:
            place = get_args(place)[1]
        elif get_origin(place) in {list, tuple}:
            place = get_args(place)[0]
        if get_origin(place) in {Union, UnionType}:  # an optional part
            place = next(part for part in get_args(place) if part is not type(None))
    return list(place.model_fields) if _is_model(place) else []


def _is_model(place: Any) -> bool:
    return isinstance(place, type) and issubclass(place, BaseModel)


def model_error(error: BaseException) -> ValidationError | None:
    """The error of a model behind another, None where there is none."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ValidationError):
        cause = cause.__cause__ or cause.__context__
    return cause


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The question whether another name was meant, empty where none is near."""
    near = meant(word, known, cutoff=cutoff)
    return f"Did you mean {near!r}?" if near else ""


def meant(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The name that is nearest to another, empty where none is near."""
    return next(iter(difflib.get_close_matches(word, sorted(known), n=1, cutoff=cutoff)), "")
