"""Plain words for a file that is no UTF-8."""

from __future__ import annotations

__all__ = ["NO_UTF8", "SAVE_AS_UTF8", "line_of"]

NO_UTF8 = "this line is not UTF-8."
SAVE_AS_UTF8 = "Save the file as UTF-8."


def line_of(error: UnicodeDecodeError) -> int:
    """The line that cannot be read, from 1."""
    return error.object[: error.start].count(b"\n") + 1
