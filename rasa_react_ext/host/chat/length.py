"""The length limit of one answer, under the name that the model knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["length_limit"]

_OLDER, _NEWER = "max_tokens", "max_completion_tokens"
_NEWER_MODELS = re.compile(r"(^|/)(o\d|gpt-5)")
"""Reasoning models refuse the older name."""


def length_limit(arguments: Mapping[str, Any], max_tokens: int | None) -> dict[str, int]:
    """The parameter that limits an answer; nothing when there is no limit of its own.

    Args:
        arguments: The completion arguments of the model group, whose own limit holds too.
        max_tokens: Tokens the answer may have at most.
    """
    if max_tokens is None:
        return {}
    newer = bool(_NEWER_MODELS.search(str(arguments.get("model", ""))))
    chosen = [name for name in (_NEWER, _OLDER) if arguments.get(name)]
    name = chosen[0] if chosen else (_NEWER if newer else _OLDER)
    return {name: min(max_tokens, *(int(arguments[each]) for each in chosen), max_tokens)}
