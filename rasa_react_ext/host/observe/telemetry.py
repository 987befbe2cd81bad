"""OpenTelemetry spans and metrics of a run, by the GenAI semantic conventions.

Spans join the trace that is current, so they lie under the host's own. Nothing said
and no argument is captured; names, counts and times are.
"""

from __future__ import annotations

import time

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.engine.decision import Outcome

__all__ = ["Telemetry"]

NAME = "rasa_react_ext"
_MS = 1_000_000
# The API's proxies: they follow a provider that the host sets later.
_tracer = trace.get_tracer(NAME)
_meter = metrics.get_meter(NAME)
_tool_time = _meter.create_histogram(
    "rasa_react_ext.tool.duration", unit="s", description="Time of a tool call."
)
_model_time = _meter.create_histogram(
    "gen_ai.client.operation.duration", unit="s", description="Time of a model call."
)
_model_tokens = _meter.create_histogram(
    "gen_ai.client.token.usage", unit="{token}", description="Tokens of a model call."
)


class Telemetry:
    """Turns one agent turn into spans and metrics (an engine `Observer`).

    Span names and attributes follow the OpenTelemetry semantic conventions for
    generative AI: `invoke_agent`, `chat`, `execute_tool`.
    """

    def __init__(self, agent: str, conversation: str) -> None:
        self._agent = agent
        self._conversation = conversation
        self._run: Span | None = None
        self._model: Span | None = None
        self._asked_at = 0.0
        self._calls: dict[int, tuple[Span, int]] = {}

    def on(self, occurrence: engine.Occurrence) -> None:
        """Take note."""
        if isinstance(occurrence, engine.RunStarted):
            self._run = self._begin("invoke_agent", self._agent, SpanKind.INTERNAL)
        elif isinstance(occurrence, engine.ModelAsked):
            self._asked_at = time.monotonic()
            self._model = self._begin("chat", "", SpanKind.CLIENT)
        elif isinstance(occurrence, engine.ModelAnswered):
            self._answered(occurrence)
        elif isinstance(occurrence, engine.ModelFailed):
            self._failed(occurrence)
        elif isinstance(occurrence, engine.CallStarted):
            span = self._begin("execute_tool", occurrence.call.name, SpanKind.INTERNAL)
            self._calls[occurrence.call.position] = (span, time.time_ns())
        elif isinstance(occurrence, engine.CallFinished):
            self._call_finished(occurrence)
        elif isinstance(occurrence, engine.RunEnded):
            self._ended(occurrence)

    def _begin(self, operation: str, name: str, kind: SpanKind) -> Span:
        context = trace.set_span_in_context(self._run) if self._run is not None else None
        return _tracer.start_span(
            f"{operation} {name}".strip(),
            context=context,
            kind=kind,
            attributes={
                "gen_ai.operation.name": operation,
                "gen_ai.agent.name": self._agent,
                "gen_ai.conversation.id": self._conversation,
            },
        )

    def _answered(self, answered: engine.ModelAnswered) -> None:
        span, self._model = self._model, None
        if span is None:
            return
        answer = answered.answer
        span.update_name(f"chat {answer.model}".strip())
        span.set_attribute("gen_ai.response.model", answer.model)
        if answer.finish_reason:
            span.set_attribute("gen_ai.response.finish_reasons", [answer.finish_reason])
        if answer.usage is not None:
            span.set_attribute("gen_ai.usage.input_tokens", answer.usage.prompt)
            span.set_attribute("gen_ai.usage.output_tokens", answer.usage.completion)
            self._count_tokens(answer.model, answer.usage.prompt, answer.usage.completion)
        span.end()
        took = time.monotonic() - self._asked_at
        _model_time.record(took, {"gen_ai.operation.name": "chat"})

    def _failed(self, failed: engine.ModelFailed) -> None:
        span, self._model = self._model, None
        if span is None:
            return
        span.set_attribute("error.type", failed.kind)
        span.set_status(Status(StatusCode.ERROR, failed.kind))
        span.end()

    def _call_finished(self, finished: engine.CallFinished) -> None:
        span, started = self._calls.pop(finished.call.position, (None, 0))
        if span is None:
            return
        span.set_attribute("gen_ai.tool.name", finished.call.name)
        span.set_attribute("gen_ai.tool.call.id", finished.call.id)
        span.set_attribute("gen_ai.tool.type", "function")
        if finished.result.is_error:
            kind = "outcome_unknown" if finished.result.outcome_unknown else "tool_error"
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR, kind))
        took = finished.duration_ms
        span.end(end_time=None if took is None else started + int(took * _MS))
        if took is not None:
            _tool_time.record(
                took / 1000,
                {"gen_ai.agent.name": self._agent, "gen_ai.tool.name": finished.call.name},
            )

    def _ended(self, ended: engine.RunEnded) -> None:
        for span, _ in self._calls.values():
            span.end()
        for span in (self._model, self._run):
            if span is None:
                continue
            if ended.outcome is Outcome.FAILED:
                span.set_status(Status(StatusCode.ERROR, ended.reason))
            span.set_attribute("rasa_react_ext.outcome", ended.outcome.value)
            span.set_attribute("rasa_react_ext.model_calls", ended.model_calls)
            span.end()
        self._calls, self._model, self._run = {}, None, None

    def _count_tokens(self, model: str, prompt: int, completion: int) -> None:
        for kind, count in (("input", prompt), ("output", completion)):
            _model_tokens.record(
                count,
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.response.model": model,
                    "gen_ai.token.type": kind,
                },
            )
