"""Which file of the trace folder belongs to a conversation."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

__all__ = ["earlier_trace_path", "trace_path"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def trace_path(folder: Path, conversation: str) -> Path:
    """File of one conversation; unusual ids get a digest so that none meet."""
    safe = _UNSAFE.sub("_", conversation)[:80]
    if not safe or safe.startswith("."):  # would not be seen in a listing
        safe = f"_{safe[1:]}"
    return folder / _named(safe, conversation)


def earlier_trace_path(folder: Path, conversation: str) -> Path:
    """The file that the conversation had before names stopped to begin with a dot."""
    return folder / _named(_UNSAFE.sub("_", conversation)[:80], conversation)


def _named(safe: str, conversation: str) -> str:
    if safe != conversation:
        safe = f"{safe}-{hashlib.sha256(conversation.encode()).hexdigest()[:8]}"
    return f"{safe}.jsonl"
