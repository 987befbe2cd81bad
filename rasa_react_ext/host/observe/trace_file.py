"""What a run of our engine does, as lines of the record of its conversation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.host.observe.trace_record import TraceRecord, TurnLabel

__all__ = ["TraceFile", "TurnLabel"]


class TraceFile:
    """Writes one agent turn to its conversation's file (an engine `Observer`)."""

    def __init__(self, folder: Path, label: TurnLabel, *, full: bool) -> None:
        self._record = TraceRecord(folder, label, full=full)

    def on(self, occurrence: engine.Occurrence) -> None:
        """Take note; the file is written when the turn ends."""
        if isinstance(occurrence, engine.RunStarted):
            self._record.begin(tools=list(occurrence.tools))
            return
        self._record.add(_NAMES[type(occurrence)], **self._facts(occurrence))
        if isinstance(occurrence, engine.RunEnded):
            self._record.write()

    def _facts(self, occurrence: engine.Occurrence) -> dict[str, Any]:
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
                "message": self._record.shown(occurrence.message),
                "retry_in_seconds": occurrence.retry_in_seconds,
            }
        return self._acts(occurrence)

    def _acts(self, occurrence: engine.Occurrence) -> dict[str, Any]:
        if isinstance(occurrence, engine.CallStarted):
            return {"call": occurrence.call.id, "tool": occurrence.call.name}
        if isinstance(occurrence, engine.CallFinished):
            given = dict(occurrence.call.arguments)
            return {
                "call": occurrence.call.id,
                "tool": occurrence.call.name,
                "arguments": self._record.shown(given),
                "result": self._record.shown(occurrence.result.text, beside=given),
                "is_error": occurrence.result.is_error,
                "outcome_unknown": occurrence.result.outcome_unknown,
                "duration_ms": occurrence.duration_ms,
                "batch": occurrence.batch,
            }
        if isinstance(occurrence, engine.SlotSet):
            value = self._record.shown(occurrence.value, name=occurrence.name)
            return {"slot": occurrence.name, "value": value}
        if isinstance(occurrence, engine.Spoke):
            return {
                "text": self._record.shown(occurrence.text),
                "kind": occurrence.kind,
                "streamed": occurrence.streamed,
                "interrupted": occurrence.interrupted,
            }
        if isinstance(occurrence, engine.RunEnded):
            return {
                "outcome": occurrence.outcome.value,
                "reason": self._record.shown(occurrence.reason),
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
            "text": self._record.shown(answer.text),
            "first_token_ms": answer.first_token_ms,
            "total_ms": answer.total_ms,
            "prompt_tokens": usage.prompt if usage else None,
            "completion_tokens": usage.completion if usage else None,
        }


_NAMES: Mapping[type[engine.Occurrence], str] = {
    engine.ModelAsked: "model_asked",
    engine.ModelAnswered: "model_answered",
    engine.ModelFailed: "model_failed",
    engine.CallStarted: "call_started",
    engine.CallFinished: "call_finished",
    engine.SlotSet: "slot_set",
    engine.Spoke: "spoke",
    engine.RunEnded: "turn_ended",
}
