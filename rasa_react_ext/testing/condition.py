"""The conditions of a rule, compiled once: does a request meet them, and if not, why.

Pure; knows nothing about answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from rasa_react_ext.testing.request import ChatRequest
from rasa_react_ext.testing.script import When, parse_pattern

__all__ = ["Condition", "compile_conditions", "shorten"]

Test = Callable[[ChatRequest], object]

_TEXT_FACTS = {
    "user": "user",
    "result": "result",
    "system": "system",
    "anywhere": "conversation",
    "model": "model",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One compiled condition.

    Attributes:
        key: Its key under `when`.
        wanted: The value as written.
        test: Gives something true when the condition holds; the match of a regex.
        actual: Describes what the request has instead.
    """

    key: str
    wanted: str
    test: Test
    actual: Callable[[ChatRequest], str]


def compile_conditions(when: When) -> tuple[Condition, ...]:
    """Compile the given keys, the cheap ones first."""
    given = [key for key in _BUILDERS if getattr(when, key) is not None]
    return tuple(_compile(key, getattr(when, key)) for key in given)


def _compile(key: str, wanted: object) -> Condition:
    test, actual = _BUILDERS[key](wanted)
    return Condition(key=key, wanted=str(wanted), test=test, actual=actual)


Built = tuple[Test, Callable[[ChatRequest], str]]


def _fact(name: str, label: str) -> Callable[[object], Built]:
    """Equality with one fact of the request."""

    def build(wanted: object) -> Built:
        return (
            lambda request: getattr(request, name) == wanted,
            lambda request: f"{label} is {getattr(request, name) or 'none'}",
        )

    return build


def _text(key: str, label: str) -> Callable[[object], Built]:
    """A pattern on one text of the request."""
    fact = _TEXT_FACTS[key]

    def build(wanted: object) -> Built:
        found = _finder(str(wanted), fact)
        return found, lambda request: f"{label} is {shorten(getattr(request, fact))!r}"

    return build


def _finder(written: str, fact: str) -> Test:
    pattern = parse_pattern(written)
    if isinstance(pattern, re.Pattern):
        return lambda request: pattern.search(getattr(request, fact))
    needle = pattern.casefold()
    return lambda request: needle in request.folded(fact)


def _tools(wanted: object) -> Built:
    names = frozenset(wanted) if isinstance(wanted, tuple) else frozenset()
    return (
        lambda request: names <= set(request.tools),
        lambda request: f"not offered: {', '.join(sorted(names - set(request.tools)))}",
    )


def _no_tools(wanted: object) -> Built:
    return (
        lambda request: bool(request.tools) is not wanted,
        lambda request: f"{len(request.tools)} tools are offered",
    )


def _anywhere(wanted: object) -> Built:
    found = _finder(str(wanted), "conversation")
    return found, lambda _: "the conversation does not contain it"


def _not_anywhere(wanted: object) -> Built:
    found = _finder(str(wanted), "conversation")
    return lambda request: not found(request), lambda _: "the conversation contains it"


_BUILDERS: dict[str, Callable[[object], Built]] = {
    "last": _fact("last_role", "the last message's role"),
    "step": _fact("step", "the step"),
    "tool": _fact("tool", "the tool of the last message"),
    "tool_choice": _fact("tool_choice", "tool_choice"),
    "no_tools": _no_tools,
    "tools": _tools,
    "model": _text("model", "the model"),
    "user": _text("user", "the last user message"),
    "result": _text("result", "the last result"),
    "system": _text("system", "the system message"),
    "anywhere": _anywhere,
    "not_anywhere": _not_anywhere,
}


def shorten(text: str, limit: int = 120) -> str:
    """The text on one line, cut to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
