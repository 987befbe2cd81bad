"""From the host's events to lines that a person reads.

Pure: takes the dictionaries the host records, knows nothing of how they came about. Bookkeeping
of the host (its own slots, its repair flows) is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Kind", "Line", "Transcript", "describe_call"]

Kind = Literal["user", "bot", "tool", "slot", "flow", "agent"]
Event = Mapping[str, Any]

RESULT_CHARACTERS = 160
HOST_SLOTS = frozenset(
    {
        "flow_hashes",
        "requested_slot",
        "session_started_metadata",
        "interrupted_flow_to_continue",
        "continue_interrupted_flow_confirmation",
    }
)
SPEAKERS: Mapping[str, Kind] = {"user": "user", "bot": "bot"}
CHANGES = {
    "started": "started",
    "completed": "finished",
    "interrupted": "interrupted",
    "resumed": "resumed",
    "cancelled": "cancelled",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a transcript.

    Attributes:
        kind: What it tells of.
        text: The words, without decoration.
    """

    kind: Kind
    text: str


class Transcript:
    """Turns events into lines, turn after turn of one conversation.

    Args:
        timed: Whether tool calls tell how long they took.
    """

    def __init__(self, *, timed: bool = True) -> None:
        self._timed = timed
        self._running: set[str] = set()
        self._cancelled: set[str] = set()
        self._slots: dict[str, Any] = {}

    def lines(self, events: Iterable[Event]) -> Iterator[Line]:
        """Yield what is worth reading in some events, in their order.

        Args:
            events: Event dictionaries of the host, oldest first.
        """
        for event in events:
            line = self._line(event)
            if line is not None:
                yield line

    def _line(self, event: Event) -> Line | None:
        kind = str(event.get("event"))
        if kind in SPEAKERS:
            return _said(SPEAKERS[kind], event)
        if kind == "slot":
            return self._slot(event)
        if kind == "mcp_tool_executed":
            return Line(kind="tool", text=describe_call(event, timed=self._timed))
        subject, _, change = kind.partition("_")
        if subject not in ("agent", "flow") or change not in CHANGES:
            return None
        return self._flow(event, change) if subject == "flow" else self._agent(event, change)

    def _slot(self, event: Event) -> Line | None:
        name, value = str(event.get("name")), event.get("value")
        changed = self._slots.get(name) != value
        self._slots[name] = value
        if name in HOST_SLOTS or not changed:
            return None
        text = f"{name} = {value!r}" if value is not None else f"{name} emptied"
        return Line(kind="slot", text=text)

    def _flow(self, event: Event, change: str) -> Line | None:
        """The host lets a cancelled flow come to its end as well; that is not news."""
        name = str(event.get("flow_id"))
        over = change == "completed" and name in self._cancelled
        (self._cancelled.add if change == "cancelled" else self._cancelled.discard)(name)
        if over or name.startswith("pattern_"):
            return None
        return Line(kind="flow", text=f"flow {name} {CHANGES[change]}")

    def _agent(self, event: Event, change: str) -> Line | None:
        """The host reports the start of an agent at every turn; only the first one is news."""
        name = str(event.get("agent_id"))
        if change == "started" and name in self._running:
            return None
        if change in ("started", "resumed"):
            self._running.add(name)
        if change in ("completed", "cancelled"):
            self._running.discard(name)
        reason = event.get("reason") if change == "cancelled" else None
        return Line(
            kind="agent",
            text=f"agent {name} {CHANGES[change]}" + (f": {reason}" if reason else ""),
        )


def _said(kind: Kind, event: Event) -> Line | None:
    text = str(event.get("text") or "")
    return Line(kind=kind, text=text) if text and not text.startswith("/") else None


def describe_call(event: Event, *, timed: bool = True) -> str:
    """Return a tool call in one line: name, arguments, duration where known, result or error.

    Args:
        event: An event of the kind `mcp_tool_executed`.
        timed: Whether the duration is told.
    """
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}"
        for name, value in (event.get("arguments") or {}).items()
    )
    duration = (event.get("metadata") or {}).get("duration_ms")
    took = f" ({duration:.0f} ms)" if timed and isinstance(duration, int | float) else ""
    failed = bool(event.get("is_error"))
    outcome = event.get("error_message") if failed else event.get("result")
    mark = "failed:" if failed else "->"
    return f"{event.get('tool_name')}({arguments}){took} {mark} {_shorten(_compact(outcome))}"


def _compact(value: Any) -> str:
    """Return JSON on one line; a text that already is JSON is only brought onto one line."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False, default=str)


def _shorten(text: str) -> str:
    return text if len(text) <= RESULT_CHARACTERS else text[: RESULT_CHARACTERS - 1] + "…"
