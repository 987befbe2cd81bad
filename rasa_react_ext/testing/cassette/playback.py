"""Finds the recorded answer to a request, or says how the nearest recorded request differs.

Pure, apart from remembering what was played.
"""

from __future__ import annotations

import difflib
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from rasa_react_ext.testing.cassette.entry import Entry, RecordedRequest, describe
from rasa_react_ext.testing.cassette.normal import Normal

__all__ = ["Playback"]

_SHOWN_LINES = 40
_WIDTH = 110


@dataclass(slots=True, kw_only=True)
class _Track:
    """A recorded exchange in the player."""

    name: str
    entry: Entry
    normal: Normal
    played: bool = False


class Playback:
    """The exchanges of a cassette, being played.

    Args:
        source: Name of the cassette, for messages.
        entries: Its exchanges by name, in order.
    """

    def __init__(self, source: str, entries: Mapping[str, Entry]) -> None:
        self._source = source
        self._tracks: dict[str, list[_Track]] = {}
        for name, entry in entries.items():
            self.add(name, entry)

    def add(self, name: str, entry: Entry, *, played: bool = False) -> None:
        """Have one more exchange."""
        normal = _normal(entry.request)
        track = _Track(name=name, entry=entry, normal=normal, played=played)
        self._tracks.setdefault(normal.key, []).append(track)

    def find(self, request: RecordedRequest) -> tuple[str, Entry] | None:
        """Name and content of the exchange to play, or None.

        Among equal requests, those come first whose dates, times and ids are most like the
        asked ones; then each is played once, in the order of the recording, and the last of
        them from then on.
        """
        normal = _normal(request)
        equal = self._tracks.get(normal.key, [])
        if not equal:
            return None
        likeness = [_likeness(track.normal, normal) for track in equal]
        best = max(likeness)
        nearest = [track for track, like in zip(equal, likeness, strict=True) if like == best]
        track = next((track for track in nearest if not track.played), nearest[-1])
        track.played = True
        return track.name, track.entry

    def explain(self, request: RecordedRequest) -> str:
        """What was asked, and how it differs from the nearest recorded request."""
        text = f"No recorded answer in {self._source} for this request: {describe(request)}."
        asked = _normal(request)
        tracks = [track for tracks in self._tracks.values() for track in tracks]
        if not tracks:
            return f"{text} The cassette is empty."
        words = Counter(asked.lines)
        nearest = max(tracks, key=lambda track: (words & Counter(track.normal.lines)).total())
        difference = "\n".join(_difference(nearest.normal, asked))
        return (
            f"{text} The nearest is {nearest.name}; lines with - are recorded, "
            f"lines with + were asked:\n{difference}"
        )


def _normal(request: RecordedRequest) -> Normal:
    return Normal(method=request.method, path=request.path, body=request.body)


def _likeness(one: Normal, other: Normal) -> int:
    return sum(a == b for a, b in zip(one.masked, other.masked, strict=False))


def _difference(recorded: Normal, asked: Normal) -> Iterator[str]:
    """The lines that differ, with one line around; a long list is cut."""
    before, after = _wrapped(recorded.lines), _wrapped(asked.lines)
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    for line in lines[:_SHOWN_LINES]:
        yield "…" if line.startswith("@@") else line
    if len(lines) > _SHOWN_LINES:
        yield f"… and {len(lines) - _SHOWN_LINES} lines more"


def _wrapped(lines: Iterable[str]) -> list[str]:
    """Long lines in several, so that a small difference in one stays visible."""
    return [
        piece
        for line in lines
        for piece in textwrap.wrap(line, _WIDTH, subsequent_indent="    ", drop_whitespace=False)
    ]
