"""Embeddings for tests: texts that share words are near each other, always in the same way.

Good enough for the host's flow retrieval; says nothing about meaning.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["embeddings"]

_DIMENSIONS = 64


def embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an embeddings request, whatever its input is.

    Args:
        body: The parsed request.
    """
    given = body.get("input")
    texts = given if isinstance(given, list) else [given]
    # A list of numbers is one text as tokens.
    texts = [texts] if texts and isinstance(texts[0], int) else texts
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(str(text))}
        for index, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
    return {"object": "list", "data": data, "model": body.get("model"), "usage": usage}


def _vector(text: str) -> list[float]:
    """Counts of words by their hash, of length one."""
    counts = [0.0] * _DIMENSIONS
    for word in re.findall(r"\w+", text.casefold()):
        counts[hashlib.sha256(word.encode()).digest()[0] % _DIMENSIONS] += 1
    length = math.hypot(*counts)
    return [count / length for count in counts] if length else [1.0, *counts[1:]]
