"""Whether a request is one that every strict provider accepts, for the engine's tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rasa_react_ext.engine.message import Message
from rasa_react_ext.testing.profile import PROFILES

__all__ = ["refusals"]

OFFERED = [
    {
        "type": "function",
        "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
    }
]


def refusals(
    messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = OFFERED
) -> dict[str, str]:
    """What each profile has against a request; empty when all accept it."""
    body: dict[str, Any] = {"model": "m", "messages": list(messages)}
    if tools:
        body["tools"] = list(tools)
    body = json.loads(json.dumps(body, ensure_ascii=False).encode())
    found = {name: profile.refuse(body) for name, profile in PROFILES.items()}
    return {name: one.message for name, one in found.items() if one and name != "gemini_signed"}
