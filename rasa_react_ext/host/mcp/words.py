"""What a message says by words alone: yes, no, a refusal, or something else.

No model judges this, so that none can be talked into it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rasa_react_ext.engine.source import Verdict

__all__ = ["NO", "YES", "plain", "verdict"]

YES = (
    "yes",
    "y",
    "yeah",
    "yep",
    "yes please",
    "please do",
    "sure",
    "ok",
    "okay",
    "of course",
    "do it",
    "go ahead",
    "i agree",
    "agreed",
    "confirm",
    "i confirm",
    "confirmed",
)
NO = (
    "no",
    "n",
    "nope",
    "nah",
    "no thanks",
    "no thank you",
    "don't",
    "do not",
    "don't do it",
    "do not do it",
    "stop",
    "cancel",
    "never mind",
    "not now",
    "no way",
)
_LONGEST_ANSWER = 80


def verdict(message: str, yes: Sequence[str], no: Sequence[str]) -> Verdict:
    """What a message says to a question: nothing but words for yes, nothing but words for no.

    Case, accents of the same letter and punctuation do not count; one word more, and the
    message is neither.
    """
    words = plain(message)
    if len(words) > _LONGEST_ANSWER:
        return "other"
    for phrases, meaning in ((yes, "yes"), (no, "no")):
        if _made_of(words, {plain(phrase) for phrase in phrases}):
            return "yes" if meaning == "yes" else "no"
    return "other"


def plain(text: str) -> str:
    """Words in small letters, one blank between them, without punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (" " if unicodedata.category(char)[0] in "PZC" else char for char in folded)
    return " ".join("".join(kept).split())


def _made_of(words: str, phrases: set[str]) -> bool:
    """Whether the words are such phrases, one after the other."""
    ends = {0}
    for start in range(len(words)):
        if start in ends:
            rest = words[start:]
            fitting = (
                phrase for phrase in phrases if phrase and f"{rest} ".startswith(f"{phrase} ")
            )
            ends |= {start + len(phrase) + 1 for phrase in fitting}
    return bool(words) and len(words) + 1 in ends
