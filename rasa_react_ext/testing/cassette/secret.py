"""Takes secrets out of what a cassette stores: by value, by the name of their key, by their form.

Cleans copies only; what goes over the wire is never touched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any
from urllib.parse import parse_qsl, quote

__all__ = ["REMOVED", "Secrets"]

REMOVED = "<removed>"

_SHORTEST = 8
"""Shorter values are placeholders such as `none`, and removing them would garble the text."""

_NAMES = (
    r"(?:[\w.-]{1,40}[-_.])?(?:api[-_]?key|subscription[-_]key|secret|secret[-_](?:access[-_])?key"
    r"|client[-_]?secret|password|passwd|passphrase|private[-_]?key|credentials?)"
    r"|(?:proxy[-_])?authorization|auth|cookie|(?:auth|access|refresh|id|session|bearer)?[-_]?token"
)
_NAME = re.compile(rf"(?:x-)?(?:{_NAMES})", re.IGNORECASE)
_FORMS = tuple(
    re.compile(form, re.DOTALL)
    for form in (
        rf"""(?i:"(?:{_NAMES})"\s*:\s*)"(?P<secret>(?:[^"\\]|\\.)+)""",
        # The same in Python's form, within a JSON text, and as an assignment.
        rf"""(?i:'(?:{_NAMES})'\s*:\s*)'(?P<secret>[^']+)""",
        rf"""(?i:\\+"(?:{_NAMES})\\+"\s*:\s*)\\+"(?P<secret>[^"\\]+)""",
        rf"(?i:\b(?:{_NAMES})=)(?P<secret>[^\s&\"']{{8,}})",
        rf"(?i:[?&](?:{_NAMES}|key|sig|signature)=)(?P<secret>[^&\s\"'#]+)",
        r"://(?P<secret>[^/\s:@\"']+:[^/\s@\"']+)@",
        r"\b(?i:bearer|basic)\s+(?P<secret>[\w.~+/=-]{8,})",
        r"(?P<secret>\b[spr]k-(?=\S*\d)[\w*-]{8,})",
        r"(?P<secret>\b(?:AIza|gh[pousr]_|github_pat_|hf_|gsk_|xox[abprs]-|glpat-)[\w-]{10,})",
        r"(?P<secret>\b(?:AKIA|ASIA)[A-Z0-9]{16}\b)",
        r"(?P<secret>\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)",
        r"(?P<secret>-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----)",
    )
)

Path = tuple[str | int, ...]


class Secrets:
    """What to remove.

    Args:
        values: Secret values as such; those shorter than eight characters are left.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value for value in values if len(value) >= _SHORTEST}
        known |= {quote(value, safe="") for value in known}
        longest_first = sorted(known, key=len, reverse=True)
        self._values = tuple(longest_first)
        self._forms = _FORMS
        if longest_first:
            listed = "|".join(map(re.escape, longest_first))
            self._forms = (re.compile(f"(?P<secret>{listed})"), *_FORMS)

    def with_request(self, headers: Mapping[str, str], query: str) -> Secrets:
        """These secrets, and the ones that one request carries in headers and query.

        Args:
            headers: Request headers.
            query: Query part of the URL.
        """
        pairs = [*headers.items(), *parse_qsl(query)]
        found = [value for name, value in pairs if _NAME.fullmatch(name) or name == "key"]
        return Secrets([*self._values, *(value.split(" ", 1)[-1] for value in found)])

    def text(self, text: str) -> str:
        """The text without secrets."""
        return "".join(self._pieces([text]))

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, also not below keys that name one."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, Mapping):
            # The token of a log probability is a piece of the answer.
            named = {k for k in value if _NAME.fullmatch(str(k)) and "logprob" not in value}
            return {
                self.text(str(key)): REMOVED
                if key in named and isinstance(item, str) and item
                else self.value(item)
                for key, item in value.items()
            }
        return value

    def events(self, events: Iterable[str]) -> list[str]:
        """Server-sent events without secrets, also those that are split over several deltas.

        Events without a secret stay as they are.

        Args:
            events: Each the text of one event, its blank line included.
        """
        parsed: list[tuple[str, Any]] = []
        tracks: dict[Path, list[str]] = {}
        for event in events:
            data = _data(event)
            parsed.append((self.text(event) if data is None else event, data))
            for path, text in _strings(data):
                if _is_piece(path):
                    tracks.setdefault(path, []).append(text)
        joined = {path: iter(self._pieces(pieces)) for path, pieces in tracks.items()}

        def clean(path: Path, text: str) -> str:
            return next(joined[path]) if _is_piece(path) else self.text(text)

        return [event if data is None else _rewritten(event, data, clean) for event, data in parsed]

    def _pieces(self, pieces: list[str]) -> list[str]:
        """The pieces of one text, each without the part of a secret that it holds."""
        text = "".join(pieces)
        spans = self._spans(text)
        ends = list(accumulate(map(len, pieces)))
        return [
            _cut(text, end - len(piece), end, spans)
            for piece, end in zip(pieces, ends, strict=True)
        ]

    def _spans(self, text: str) -> list[tuple[int, int]]:
        found = sorted(
            match.span("secret")
            for form in self._forms
            for match in form.finditer(text)
            if match["secret"] != REMOVED
        )
        merged: list[tuple[int, int]] = []
        for start, end in found:
            if merged and start < merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged


def _cut(text: str, start: int, end: int, spans: list[tuple[int, int]]) -> str:
    """A part of the text; a secret leaves its mark where it begins."""
    kept, at = "", start
    for first, last in spans:
        if last <= start or first >= end:
            continue
        kept += text[at : max(first, at)] + (REMOVED if first >= start else "")
        at = min(last, end)
    return kept + text[at:end]


def _data(event: str) -> Any:
    """The JSON of an event; None for an event without."""
    try:
        value = json.loads(event.strip().removeprefix("data:"))
    except ValueError:
        return None
    return value if isinstance(value, dict | list) else None


def _is_piece(path: Path) -> bool:
    """Whether the texts at this place in successive events are pieces of one text."""
    return "delta" in path or (bool(path) and path[-1] == "text")


def _strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Every text with its place; items of a list are placed by their `index`."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(item, (*path, str(key)))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _strings(item, (*path, _index(item, place)))


def _rewritten(event: str, data: Any, clean: Callable[[Path, str], str]) -> str:
    changed = _mapped(data, clean, ())
    if changed == data:
        return event
    return f"data: {json.dumps(changed, ensure_ascii=False, separators=(',', ':'))}\n\n"


def _mapped(value: Any, clean: Callable[[Path, str], str], path: Path) -> Any:
    """A copy of the value with every text replaced, visited in the order of `_strings`."""
    if isinstance(value, str):
        return clean(path, value)
    if isinstance(value, Mapping):
        return {key: _mapped(item, clean, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, clean, (*path, _index(item, i))) for i, item in enumerate(value)]
    return value


def _index(item: Any, place: int) -> int:
    index = item.get("index") if isinstance(item, Mapping) else None
    return index if isinstance(index, int) else place
