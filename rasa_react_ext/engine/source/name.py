"""Tool names every model provider accepts, made from names only a server must accept.

Pure and stable: the same name gives the same result in every process.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import sha256

__all__ = ["MAX_LENGTH", "marked", "safe_name"]

MAX_LENGTH = 64
_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
_MARK_LENGTH = 8


def safe_name(name: str) -> str:
    """A name that fits `^[A-Za-z0-9_-]{1,64}$`; one that fits already is returned as it is.

    Accents are dropped, other refused characters become underscores. A name that is
    too long, or of which nothing is left, gets a mark made from the whole name.
    """
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    plain = _REFUSED.sub("_", plain)
    if not plain.strip("_-"):
        return marked("tool", name)
    return plain if len(plain) <= MAX_LENGTH else marked(plain, name)


def marked(readable: str, name: str) -> str:
    """The readable part, cut to fit, with a mark that only `name` has."""
    mark = sha256(name.encode()).hexdigest()[:_MARK_LENGTH]
    return f"{readable[: MAX_LENGTH - _MARK_LENGTH - 1]}_{mark}"
