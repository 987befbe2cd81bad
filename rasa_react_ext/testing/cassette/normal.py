"""What a request says, without what differs from run to run: the ground for matching.

Dates, times, ids, local addresses, white space and the order of keys do not count. Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rasa_react_ext.testing.request import text_of

__all__ = ["Normal"]

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_NOISE = re.compile(
    rf"""
    (?P<uuid>\b[0-9a-f]{{8}}-(?:[0-9a-f]{{4}}-){{3}}[0-9a-f]{{12}}\b)
    |(?P<address>\b(?:127\.0\.0\.1|localhost):\d+)
    |(?P<date>\b\d{{4}}-\d\d-\d\d
        (?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)
        |\b(?:{_WEEKDAY},?\ )?\d{{1,2}}\.?\ {_MONTH},?\ \d{{4}}\b
        |\b(?:{_WEEKDAY},?\ )?{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?,?\ \d{{4}}\b
        |\b\d{{1,2}}[./]\d{{1,2}}[./]\d{{4}}\b)
    |(?P<time>\b\d{{1,2}}:\d\d(?::\d\d(?:\.\d+)?)?(?:\ ?[ap]m)?\b)
    |(?P<day>(?<=day:\ ){_WEEKDAY}\b)
    |(?P<id>\b(?:call|chatcmpl|conv|fc|msg|req|resp|rs|run|sess|session|task|thread|toolu)
        [_-](?=[a-z_-]*\d)[\w-]{{6,}}
        |\b(?=[a-f]*\d)[0-9a-f]{{16,}}\b)
    |(?P<moment>\b1[5-9]\d{{8}}(?:\d{{3}})?(?:\.\d+)?\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_IDENTIFYING = {"metadata", "prompt_cache_key", "safety_identifier", "user"}


@dataclass(frozen=True, kw_only=True)
class Normal:
    """A request as it is compared with others.

    Attributes:
        method: HTTP method.
        path: Path below the base URL, without the query.
        body: The parsed JSON body, a text, bytes or None.
    """

    method: str
    path: str
    body: Any

    @cached_property
    def _read(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        masked: list[str] = []
        first = f"{self.method} {self.path.partition('?')[0]}"
        return (first, *_lines(_plain(self.body), "", masked)), tuple(masked)

    @property
    def lines(self) -> tuple[str, ...]:
        """The request line by line, each with its place, for people to compare."""
        return self._read[0]

    @property
    def masked(self) -> tuple[str, ...]:
        """What was left out of the comparison, in its order."""
        return self._read[1]

    @cached_property
    def key(self) -> str:
        """The same for all requests that count as equal."""
        words = " ".join(" ".join(self.lines).split())
        return hashlib.sha256(words.encode()).hexdigest()


def _lines(value: Any, place: str, masked: list[str]) -> Iterator[str]:
    """Every leaf of a value, with its place; a text of several lines keeps them."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            yield from _lines(value[key], f"{place}.{key}" if place else str(key), masked)
    elif isinstance(value, list):
        if not value:
            yield f"{place}: []"
        for number, item in enumerate(value, start=1):
            yield from _lines(item, f"{place}[{number}]", masked)
    elif value is not None:
        text = value if isinstance(value, str) else json.dumps(value, default=repr)
        words = [" ".join(line.split()) for line in text.splitlines()]
        said = [_mask(line, masked) for line in words if line]
        if len(said) <= 1:
            yield f"{place}: {said[0] if said else ''}"
        else:
            yield f"{place}:"
            yield from (f"  {line}" for line in said)


def _mask(text: str, masked: list[str]) -> str:
    def mark(found: re.Match[str]) -> str:
        masked.append(found.group())
        return f"<{found.lastgroup}>"

    return _NOISE.sub(mark, text)


def _plain(body: Any) -> Any:
    """The body with one form for what has several."""
    if not isinstance(body, Mapping):
        return body
    plain = {key: value for key, value in body.items() if key not in _IDENTIFYING}
    messages = body.get("messages")
    if isinstance(messages, list):
        ids: dict[str, str] = {}
        plain["messages"] = [_message(message, ids) for message in messages]
    return plain


def _message(message: Any, ids: dict[str, str]) -> Any:
    """Call ids by order of appearance, JSON in texts as values, text parts as one text."""
    if not isinstance(message, Mapping):
        return message
    plain = dict(message)
    if _is_text(plain.get("content")):
        plain["content"] = text_of(plain["content"])
    if plain.get("role") == "tool":
        plain["tool_call_id"] = _id(plain.get("tool_call_id"), ids)
        plain["content"] = _parsed(plain.get("content"))
    if isinstance(plain.get("tool_calls"), list):
        plain["tool_calls"] = [_call(call, ids) for call in plain["tool_calls"]]
    return plain


def _call(call: Any, ids: dict[str, str]) -> Any:
    if not isinstance(call, Mapping):
        return call
    plain = {**call, "id": _id(call.get("id"), ids)}
    function = call.get("function")
    if isinstance(function, Mapping):
        plain["function"] = {**function, "arguments": _parsed(function.get("arguments"))}
    return plain


def _id(given: Any, ids: dict[str, str]) -> str:
    return ids.setdefault(str(given), f"call {len(ids) + 1}")


def _is_text(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(part, Mapping) and set(part) == {"type", "text"} for part in content
    )


def _parsed(text: Any) -> Any:
    """The JSON object or list in a text, else the text."""
    if not isinstance(text, str):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text
