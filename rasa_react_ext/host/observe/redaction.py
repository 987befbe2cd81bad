"""Takes secrets out of what is shown or written: by the name above them, and by their form.

The record and the terminal show the same. Whole values under a secret-looking name are hidden;
in a text only the secret is removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rasa_react_ext.testing.cassette import Secrets

__all__ = ["HIDDEN", "Redaction", "is_secret"]

HIDDEN = "(hidden)"
_LONGEST = 8000
"""No secret is longer; a private key is the longest."""
_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|secret|token$|api_?key|authorization|credential|cookie|^pin$", re.I
)


class Redaction:
    """What is hidden: by name, by form, and what stands under a secret name of the environment.

    Args:
        also: Values in which more secrets stand under their names, such as arguments of a call;
            these are then removed from texts, too.
    """

    def __init__(self, *also: Any) -> None:
        self._secrets = Secrets([*_under_names(dict(os.environ)), *_under_names(also)])

    def text(self, text: str, *, short: int | None = None) -> str:
        """A text without secrets.

        Args:
            text: The text.
            short: How many characters of it are kept; None for all.
        """
        if short is None or len(text) <= short:
            return self._secrets.text(text)
        # What begins before the cut is a secret by what stands behind it, too.
        kept = self._secrets.text(text[: short + _LONGEST])[:short]
        return f"{kept} … ({len(text)} characters)"

    def value(self, value: Any, *, name: str = "", short: int | None = None) -> Any:
        """A JSON value without secrets, at any depth.

        Args:
            value: The value.
            name: What it stands under.
            short: How many characters of each text are kept; None for all.
        """
        if is_secret(name):
            return HIDDEN
        if isinstance(value, Mapping):
            return {
                self.text(str(key)): self.value(item, name=str(key), short=short)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(item, short=short) for item in value]
        return self.text(value, short=short) if isinstance(value, str) else value


def is_secret(name: str) -> bool:
    """Whether what stands under a name is hidden."""
    return _SECRET.search(name) is not None


def _under_names(value: Any, *, secret: bool = False) -> Iterator[str]:
    """Texts under secret names, at any depth."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _under_names(item, secret=secret or is_secret(str(key)))
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for item in value:
            yield from _under_names(item, secret=secret)
    elif secret and value is not None:
        yield str(value)
