"""Takes mistakes that were told out of the values, so that none of them hides another."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.explain.setting import MEANT, MISSING, UNKNOWN_KEY

__all__ = ["at", "drop", "expanded", "is_unset", "read_mending", "rename"]

_MOST = 20
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_NAMES = ("name", "id")
_STAND_INS: tuple[Any, ...] = ("1", {"1": "1"})
"""Values for keys that are missing: a text that is a number too, and keys with values."""
_Read = TypeVar("_Read")
_Place = tuple[str, ...]


def read_mending(
    values: Any,
    read: Callable[[Any], _Read],
    tell: Callable[[ConfigurationError], None],
    locate: Callable[[ConfigurationError], Sequence[str]],
) -> tuple[_Read | None, bool]:
    """Read values, again without each mistake that is refused.

    Args:
        values: What is read; stays as it is.
        read: Reads it.
        tell: Takes each refusal.
        locate: Where in the values a refusal belongs.

    Returns:
        What was read, None where it could not be without something that is missing; and
        whether there was any mistake.
    """
    mended, filled = copy.deepcopy(values), dict[_Place, int]()
    gone = list[_Place]()
    for turn in range(_MOST):
        try:
            done = read(mended)
        except ConfigurationError as error:
            place = tuple(locate(error))
            # What encloses a place that is gone may be refused for that alone.
            own = error.__cause__ is None  # a check of names, which needs no values
            if own or not place or all(known[: len(place)] != place for known in gone):
                tell(error)
            taken = _mend(mended, error, place, filled)
            if taken is None:
                return None, True
            gone += [taken] if taken else []
        else:
            return (None if filled else done), turn > 0
    return None, True


def _mend(
    mended: Any, error: ConfigurationError, place: _Place, filled: dict[_Place, int]
) -> _Place | None:
    """Take one mistake out.

    Returns:
        The place that is gone, an empty one where only something else stands there now, and
        None where nothing could be done.
    """
    if error.problem == MISSING:
        return _fill(mended, place, filled)
    right = MEANT.search(error.fix) if error.problem == UNKNOWN_KEY else None
    if right is not None and rename(mended, place, right[1]):
        return ()
    return place if drop(mended, place) else None


def _fill(mended: Any, place: _Place, filled: dict[_Place, int]) -> _Place | None:
    """Put the next stand-in where a key is missing; where none fits, what needs it goes."""
    above, tried = at(mended, place[:-1]), filled.get(place, 0)
    if tried == len(_STAND_INS) or not isinstance(above, dict):
        return place[:-1] if drop(mended, place[:-1]) else None
    above[place[-1]] = copy.copy(_STAND_INS[tried])
    filled[place] = tried + 1
    return ()


def at(values: Any, parts: Sequence[str]) -> Any:
    """What is at a place, None where there is none; entries of lists go by name or number."""
    for part in parts:
        key = _key(values, part)
        if key is None:
            return None
        values = values[key]
    return values


def drop(values: Any, parts: Sequence[str]) -> bool:
    """Take a place out; whether it was there."""
    above, key = _last(values, parts)
    if key is None:
        return False
    del above[key]
    return True


def rename(values: Any, parts: Sequence[str], name: str) -> bool:
    """Give a key another name; whether it was there and the name was free."""
    above, key = _last(values, parts)
    if not isinstance(above, dict) or key is None or name in above:
        return False
    above[name] = above.pop(key)
    return True


def expanded(values: Any) -> Any:
    """A copy with the variables of the environment filled in."""
    if isinstance(values, Mapping):
        return {str(key): expanded(value) for key, value in values.items()}
    if isinstance(values, list):
        return [expanded(value) for value in values]
    if isinstance(values, str):
        return _VARIABLE.sub(lambda found: os.environ.get(found[1], found[0]), values)
    return values


def is_unset(value: Any, unset: Sequence[str]) -> bool:
    """Whether a text asks for one of some variables."""
    return any(name in unset for name in _VARIABLE.findall(value if isinstance(value, str) else ""))


def _last(values: Any, parts: Sequence[str]) -> tuple[Any, Any]:
    if not parts:
        return None, None
    above = at(values, parts[:-1])
    return above, _key(above, parts[-1])


def _key(values: Any, part: str) -> Any:
    if isinstance(values, Mapping):
        return next((key for key in values if str(key) == part), None)
    if isinstance(values, list):
        for index, entry in enumerate(values):
            names = [entry.get(key) for key in _NAMES] if isinstance(entry, Mapping) else [entry]
            if part == str(index) or part in names:
                return index
    return None
