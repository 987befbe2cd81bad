"""Keeps a model's thinking out of its visible text.

Some servers send thinking inside the content, between tags. The tags may be
split over any number of deltas.
"""

from __future__ import annotations

import re

__all__ = ["ThoughtFilter", "visible_text"]

_OPENING = ("<think>", "<thinking>", "<thought>")
_CLOSING = ("</think>", "</thinking>", "</thought>")
_ORPHAN = re.compile(r"</(?:think|thinking|thought)>", re.IGNORECASE)


class ThoughtFilter:
    """Passes visible text on, piece by piece, and drops thinking blocks.

    White space before the first visible character is dropped too, so that an
    answer of white space or thinking alone is empty.
    """

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        self._started = False

    def feed(self, delta: str) -> str:
        """The part of the text so far that is surely visible and not passed on yet."""
        self._held += delta
        return self._drain(final=False)

    def finish(self) -> str:
        """What was held back because a tag could still have followed."""
        return self._drain(final=True)

    def _drain(self, *, final: bool) -> str:
        shown: list[str] = []
        while self._held:
            tags = _CLOSING if self._thinking else _OPENING + _CLOSING
            start, end = _first_tag(self._held, tags)
            if end:
                shown.append("" if self._thinking else self._held[:start])
                self._thinking = self._held[start + 1] != "/"
                self._held = self._held[end:]
                continue
            keep = len(self._held) if final else _safe_length(self._held, tags)
            shown.append("" if self._thinking else self._held[:keep])
            self._held = self._held[keep:]
            break
        return self._begun("".join(shown))

    def _begun(self, text: str) -> str:
        if not self._started:
            text = text.lstrip()
            self._started = bool(text)
        return text


def visible_text(text: str) -> str:
    """A whole answer without its thinking.

    A closing tag alone means that the server's prompt template opened the block,
    so everything before it is thinking.
    """
    orphan = _ORPHAN.search(text)
    if orphan and not _first_tag(text[: orphan.start()], _OPENING)[1]:
        text = text[orphan.end() :]
    thoughts = ThoughtFilter()
    return (thoughts.feed(text) + thoughts.finish()).rstrip()


def _first_tag(text: str, tags: tuple[str, ...]) -> tuple[int, int]:
    """Start and end of the first tag in the text; (0, 0) without one."""
    lowered = text.lower()
    found = [(place, place + len(tag)) for tag in tags if (place := lowered.find(tag)) >= 0]
    return min(found, default=(0, 0))


def _safe_length(text: str, tags: tuple[str, ...]) -> int:
    """Length of the text that cannot be the beginning of a tag."""
    place = text.rfind("<")
    if place < 0 or not any(tag.startswith(text[place:].lower()) for tag in tags):
        return len(text)
    return place
