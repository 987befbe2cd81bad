"""The JSON-lines record of a conversation, one file each, one line per occurrence.

Switched on by `rasa_react_ext: trace_folder` in endpoints.yml. Long values are cut and
values under secret-looking keys are hidden, unless `trace_content: full` is set;
secrets are hidden even then.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.host.observe.trace_path import trace_path

__all__ = ["TraceFile", "TurnLabel"]

SHORT = 400
HIDDEN = "(hidden)"
_SECRET = re.compile(
    r"pass(word|wd|phrase)?$|secret|token$|api_?key|authorization|credential|cookie|^pin$", re.I
)


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
    """

    conversation: str
    turn: str
    agent: str
    flow: str
    step: str
    user: str


class TraceFile:
    """Writes one agent turn to its conversation's file (an engine `Observer`)."""

    def __init__(self, folder: Path, label: TurnLabel, *, full: bool) -> None:
        self._path = trace_path(folder, label.conversation)
        self._label = label
        self._full = full
        self._started = time.monotonic()
        self._lines: list[str] = []

    def on(self, occurrence: engine.Occurrence) -> None:
        """Take note; the file is written when the turn ends."""
        self._lines.append(self._line(occurrence))
        if isinstance(occurrence, engine.RunEnded):
            self._write()

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(self._lines))
        self._lines.clear()

    def _line(self, occurrence: engine.Occurrence) -> str:
        entry: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "ms": round((time.monotonic() - self._started) * 1000, 1),
            "turn": self._label.turn,
            "agent": self._label.agent,
            "what": _NAMES[type(occurrence)],
            **self._facts(occurrence),
        }
        return f"{json.dumps(entry, ensure_ascii=False, default=str)}\n"

    def _facts(self, occurrence: engine.Occurrence) -> dict[str, Any]:
        if isinstance(occurrence, engine.RunStarted):
            return {
                "conversation": self._label.conversation,
                "flow": self._label.flow,
                "step": self._label.step,
                "user": self._shown(self._label.user),
                "tools": list(occurrence.tools),
            }
        if isinstance(occurrence, engine.ModelAsked):
            closing = occurrence.closing.value if occurrence.closing else None
            return {
                "attempt": occurrence.attempt,
                "messages": occurrence.messages,
                "closing": closing,
            }
        if isinstance(occurrence, engine.ModelAnswered):
            return self._answer(occurrence)
        if isinstance(occurrence, engine.ModelFailed):
            return {
                "kind": occurrence.kind,
                "message": self._shown(occurrence.message),
                "retry_in_seconds": occurrence.retry_in_seconds,
            }
        return self._acts(occurrence)

    def _acts(self, occurrence: engine.Occurrence) -> dict[str, Any]:
        if isinstance(occurrence, engine.CallStarted):
            return {"call": occurrence.call.id, "tool": occurrence.call.name}
        if isinstance(occurrence, engine.CallFinished):
            return {
                "call": occurrence.call.id,
                "tool": occurrence.call.name,
                "arguments": self._shown(dict(occurrence.call.arguments)),
                "result": self._shown(occurrence.result.text),
                "is_error": occurrence.result.is_error,
                "outcome_unknown": occurrence.result.outcome_unknown,
                "duration_ms": occurrence.duration_ms,
                "batch": occurrence.batch,
            }
        if isinstance(occurrence, engine.SlotSet):
            value = HIDDEN if _SECRET.search(occurrence.name) else self._shown(occurrence.value)
            return {"slot": occurrence.name, "value": value}
        if isinstance(occurrence, engine.Spoke):
            return {
                "text": self._shown(occurrence.text),
                "kind": occurrence.kind,
                "streamed": occurrence.streamed,
                "interrupted": occurrence.interrupted,
            }
        if isinstance(occurrence, engine.RunEnded):
            return {
                "outcome": occurrence.outcome.value,
                "reason": occurrence.reason,
                "model_calls": occurrence.model_calls,
                "tokens": occurrence.tokens,
            }
        return {}

    def _answer(self, answered: engine.ModelAnswered) -> dict[str, Any]:
        answer = answered.answer
        usage = answer.usage
        return {
            "model": answer.model,
            "finish_reason": answer.finish_reason,
            "calls": [call.name for call in answer.calls],
            "text": self._shown(answer.text),
            "first_token_ms": answer.first_token_ms,
            "total_ms": answer.total_ms,
            "prompt_tokens": usage.prompt if usage else None,
            "completion_tokens": usage.completion if usage else None,
        }

    def _shown(self, value: Any) -> Any:
        """A value as it may be written: secrets hidden, long texts cut."""
        if isinstance(value, Mapping):
            return {
                str(key): HIDDEN if _SECRET.search(str(key)) else self._shown(item)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._shown(item) for item in value]
        if isinstance(value, str) and not self._full and len(value) > SHORT:
            return f"{value[:SHORT]} … ({len(value)} characters)"
        return value


_NAMES: Mapping[type[engine.Occurrence], str] = {
    engine.RunStarted: "turn_started",
    engine.ModelAsked: "model_asked",
    engine.ModelAnswered: "model_answered",
    engine.ModelFailed: "model_failed",
    engine.CallStarted: "call_started",
    engine.CallFinished: "call_finished",
    engine.SlotSet: "slot_set",
    engine.Spoke: "spoke",
    engine.RunEnded: "turn_ended",
}
