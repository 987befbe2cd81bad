"""What is logged as errors in this process, kept for whoever shows it to a person.

Must import nothing of the host.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Generator, MutableMapping
from typing import Any

__all__ = ["one_line", "reported", "reported_only"]

_SHOWN = 400
_TOLD_OTHERWISE = frozenset({"rasa_react_ext.turn.failed"})
"""Events that whoever follows a turn hears of in any case."""


class _Reported(logging.Handler):
    """What the host logs as errors, in its own words.

    A processor of structlog; also a handler of the host's lines, because loggers that were used
    before keep the processors they had.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._found: list[str] = []
        self._lines: list[str] = []

    def __call__(
        self, _logger: object, method: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        told = event.get("event") in _TOLD_OTHERWISE
        if method in {"error", "critical", "exception"} and not told:
            words = event.get("event_info") or event.get("error") or event.get("event")
            self._found.append(one_line(str(words)))
        return event

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line that the host has made of an event."""
        line = record.getMessage()
        if any(name in line for name in _TOLD_OTHERWISE):
            return
        told = _EVENT_INFO.search(line)
        self._lines.append(one_line(told["words"] if told else line))

    def take(self) -> list[str]:
        """The errors since the last call, oldest first."""
        found, self._found, self._lines = self._found or self._lines, [], []
        return found


# As the host writes it for people, and as JSON.
_EVENT_INFO = re.compile(
    r"""event_info(?:"\s*:|.*?=)\s*(?:\x1b\[[0-9;]*m)*(?P<q>['"])(?P<words>.*?)(?P=q)"""
)

reported = _Reported()


@contextlib.contextmanager
def reported_only() -> Generator[None]:
    """Keep errors and print nothing that is logged while the block runs."""
    root = logging.getLogger()
    before = [*root.handlers], root.level, root.manager.disable
    root.handlers[:] = [reported]
    root.setLevel(logging.ERROR)
    logging.disable(logging.WARNING)
    reported.take()
    try:
        yield
    finally:
        root.handlers[:], disabled = before[0], before[2]
        root.setLevel(before[1])
        logging.disable(disabled)


def one_line(text: str) -> str:
    """A text without its line breaks; of a long one beginning and end, which says what to do."""
    line = " ".join(text.split())
    if len(line) <= _SHOWN:
        return line
    half = _SHOWN // 2
    return f"{line[:half]} … {line[-half:]}"
