"""One agent turn in the JSON-lines record of its conversation: whole lines, without secrets.

Switched on by `rasa_react_ext: trace_folder` in endpoints.yml. Long values are cut, unless
`trace_content: full` is set; secrets are hidden even then.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rasa_react_ext.host.observe.asked_model import UNKNOWN, AskedModel
from rasa_react_ext.host.observe.redaction import Redaction
from rasa_react_ext.host.observe.trace_path import trace_path

__all__ = ["SHORT", "TraceRecord", "TurnLabel"]

SHORT = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLabel:
    """What every line of one agent turn bears.

    Attributes:
        conversation: Sender id.
        turn: Id of the agent turn.
        agent: Name of the agent.
        flow: Flow that called it.
        step: Step of that flow.
        user: What the user said.
        model: What the agent asks; of no line, but of the spans.
    """

    conversation: str
    turn: str
    agent: str
    flow: str
    step: str
    user: str
    model: AskedModel = UNKNOWN


class TraceRecord:
    """The lines of one turn; they reach the file together, when the turn ends."""

    def __init__(self, folder: Path, label: TurnLabel, *, full: bool) -> None:
        self.label = label
        self._path = trace_path(folder, label.conversation)
        self._full = full
        self._redaction = Redaction()
        self._started = time.monotonic()
        self._lines: list[str] = []

    def begin(self, **facts: Any) -> None:
        """The line that every turn begins with."""
        label = self.label
        self.add(
            "turn_started",
            conversation=label.conversation,
            flow=label.flow,
            step=label.step,
            user=self.shown(label.user),
            **facts,
        )

    def add(self, what: str, **facts: Any) -> None:
        """One line; what was said goes through `shown` first.

        Args:
            what: What happened.
            facts: More about it.
        """
        entry: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "ms": round((time.monotonic() - self._started) * 1000, 1),
            "turn": self.label.turn,
            "agent": self.label.agent,
            "what": what,
            **facts,
        }
        self._lines.append(f"{json.dumps(entry, ensure_ascii=False, default=str)}\n")

    def write(self) -> None:
        """Put the lines behind those of earlier turns.

        Raises:
            OSError: The file cannot be written.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(self._lines))
        self._lines.clear()

    def shown(self, value: Any, *, name: str = "", beside: Any = None) -> Any:
        """A value as it may be written: secrets hidden, long texts cut.

        Args:
            value: The value.
            name: What it stands under.
            beside: More, in which secrets stand that the value may repeat.
        """
        redaction = self._redaction if beside is None else Redaction(beside)
        return redaction.value(value, name=name, short=None if self._full else SHORT)
