"""What the demo's commands raise when something is wrong: one line that a person can act on."""

from __future__ import annotations

__all__ = ["DemoError"]


class DemoError(Exception):
    """The demonstration cannot go on; the text says why and what to do."""
