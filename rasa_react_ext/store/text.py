"""Texts from outside in the form that every database takes."""

from __future__ import annotations

__all__ = ["storable"]


def storable(text: str, limit: int | None = None) -> str:
    """A text without U+0000 and halves of surrogate pairs, cut to a length.

    Args:
        text: The text.
        limit: How many characters at most; None for any number.
    """
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")[:limit]
