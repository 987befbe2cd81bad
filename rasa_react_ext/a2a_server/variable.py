"""Variables of the environment that a setting names and nobody has filled in.

Left as they are, their names would be the secret or the address. Never repeats a value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Mapping
from typing import Any

from rasa_react_ext.errors import ConfigurationError

__all__ = ["refuse_misspelt", "refuse_unset"]

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_FILLED = re.compile(rf"\$\{{({_NAME})\}}")
_WHOLE = re.compile(rf"\$\{{?({_NAME})\}}?")
_INSIDE = re.compile(rf"\$({_NAME})|\$\{{({_NAME})(?![A-Za-z0-9_}}])")
# A secret may hold the sign; what leads to a place or names a party does not.
_PLAIN = re.compile(r"(^|_)(url|path|hosts|interface|issuer|audience|kid|key_id)$")


def refuse_unset(entry: Any, file: str, place: str) -> None:
    """Refuse `${NAME}` that is still there after it was filled in.

    Raises:
        ConfigurationError: Names the key and the variable.
    """
    for keys, text in _texts(entry):
        for name in _FILLED.findall(text):
            raise ConfigurationError(
                file=file,
                key=": ".join([place, *keys]),
                problem=f"the environment variable {name} is not set.",
                fix=f"Set {name}, in .env or where the server is started.",
            )


def refuse_misspelt(entry: Any, file: str, place: str) -> None:
    """Refuse `$NAME` and `${NAME`, which nobody fills in.

    Raises:
        ConfigurationError: Names the key and what to write.
    """
    for keys, text in _texts(entry):
        name = _misspelt(keys, text.strip())
        if name is None:
            continue
        # What is not spelt like a variable might be a secret after all.
        shown = name if name.isupper() else "NAME_OF_THE_VARIABLE"
        also = "" if shown != name or name in os.environ else f", and set {name}"
        raise ConfigurationError(
            file=file,
            key=": ".join([place, *keys]),
            problem="this is the name of an environment variable, in a form that is not filled in.",
            fix=f"Write ${{{shown}}}{also}.",
        )


def _misspelt(keys: tuple[str, ...], text: str) -> str | None:
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return None if _FILLED.fullmatch(text) else whole[1]
    named = next((key for key in reversed(keys) if not key.isdigit()), "")
    if "://" not in text and not _PLAIN.search(named):
        return None
    inside = _INSIDE.search(text)
    return None if inside is None else inside[1] or inside[2]


def _texts(value: Any, keys: tuple[str, ...] = ()) -> Generator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*keys, str(key)))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _texts(item, (*keys, str(number)))
