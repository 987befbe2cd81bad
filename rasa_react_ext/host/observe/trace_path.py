"""Which file of the trace folder belongs to a conversation."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

__all__ = ["trace_path"]

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def trace_path(folder: Path, conversation: str) -> Path:
    """File of one conversation; unusual ids get a digest so that none meet."""
    safe = _UNSAFE.sub("_", conversation)[:80]
    if safe != conversation:
        safe = f"{safe}-{hashlib.sha256(conversation.encode()).hexdigest()[:8]}"
    return folder / f"{safe}.jsonl"
