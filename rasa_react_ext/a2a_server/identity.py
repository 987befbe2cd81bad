"""Names made of what a caller sends: conversations, contexts, digests of messages."""

from __future__ import annotations

import hashlib
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid4, uuid5

from a2a.types import Message

__all__ = ["ANONYMOUS", "context_for", "conversation_of", "digest_of", "new_id"]

ANONYMOUS = "anonymous"
LIMIT = 255
"""Longest conversation id that every tracker store takes."""


def new_id() -> str:
    """A new random id."""
    return str(uuid4())


def conversation_of(caller: str, context_id: str, *, raw: bool = False) -> str:
    """Id of the dialogue that a caller's context stands for.

    No two callers share one, and no other channel makes such ids.

    Args:
        caller: Who calls.
        context_id: The caller's context.
        raw: Whether the context id alone names it, as the host does.
    """
    if raw:
        return context_id
    name = f"a2a:{quote(caller, safe='@.')}:{context_id}"
    if len(name) <= LIMIT:
        return name
    return f"a2a:#{hashlib.sha256(name.encode()).hexdigest()}"


def context_for(caller: str, message_id: str) -> str:
    """The context of a message that names none; the same when it is sent again."""
    return str(uuid5(NAMESPACE_URL, f"a2a:{quote(caller, safe='')}:{message_id}"))


def digest_of(message: Message) -> str:
    """Digest of what a message says, without the ids that a server may fill in."""
    copy = Message()
    copy.CopyFrom(message)
    copy.ClearField("context_id")
    copy.ClearField("task_id")
    return hashlib.sha256(copy.SerializeToString(deterministic=True)).hexdigest()
