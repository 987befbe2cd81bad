"""OpenTelemetry spans and metrics of a run, by the GenAI semantic conventions.

Spans join the trace that is current, so they lie under the host's own. Nothing said
and no argument is captured; names, counts and times are. A failure is a class of our own
words: what a provider or a hook says of one may repeat what the user said.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.engine.decision import Outcome
from rasa_react_ext.host.observe.asked_model import UNKNOWN, AskedModel

__all__ = ["Telemetry"]

NAME = "rasa_react_ext"
_MS = 1_000_000
_CHAT = "chat"
_OTHER = "_OTHER"
"""The conventions' name for a failure without a class."""
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

    def __init__(self, agent: str, conversation: str, asked: AskedModel = UNKNOWN) -> None:
        """Watch one turn.

        Args:
            agent: Name of the agent.
            conversation: Sender id.
            asked: The model that the agent asks.
        """
        self._agent = agent
        self._conversation = conversation
        self._asked = asked
        self._run: Span | None = None
        self._model: Span | None = None
        self._asked_at = 0.0
        self._failure = _OTHER
        self._calls: dict[int, tuple[Span, int]] = {}

    def on(self, occurrence: engine.Occurrence) -> None:
        """Take note."""
        if isinstance(occurrence, engine.RunStarted):
            self._run = self._begin(
                "invoke_agent", self._agent, SpanKind.INTERNAL, self._asked.attributes
            )
        elif isinstance(occurrence, engine.ModelAsked):
            self._asked_at = time.monotonic()
            self._model = self._begin(
                _CHAT, self._asked.name, SpanKind.CLIENT, self._asked.attributes
            )
        elif isinstance(occurrence, engine.ModelAnswered):
            self._answered(occurrence)
        elif isinstance(occurrence, engine.ModelFailed):
            self._failed(occurrence.kind)
        elif isinstance(occurrence, engine.CallStarted):
            span = self._begin("execute_tool", occurrence.call.name, SpanKind.INTERNAL)
            self._calls[occurrence.call.position] = (span, time.time_ns())
        elif isinstance(occurrence, engine.CallFinished):
            self._call_finished(occurrence)
        elif isinstance(occurrence, engine.RunEnded):
            self._ended(occurrence)

    def _begin(
        self, operation: str, name: str, kind: SpanKind, more: Mapping[str, str] | None = None
    ) -> Span:
        context = trace.set_span_in_context(self._run) if self._run is not None else None
        return _tracer.start_span(
            f"{operation} {name}".strip(),
            context=context,
            kind=kind,
            attributes={
                "gen_ai.operation.name": operation,
                "gen_ai.agent.name": self._agent,
                "gen_ai.conversation.id": self._conversation,
                **(more or {}),
            },
        )

    def _answered(self, answered: engine.ModelAnswered) -> None:
        span, self._model = self._model, None
        if span is None:
            return
        answer = answered.answer
        withheld = answer.finish_reason == "content_filter"
        self._failure = "content_filter" if withheld else _OTHER
        if not self._asked.name:
            span.update_name(f"{_CHAT} {answer.model}".strip())
        if answer.model:
            span.set_attribute("gen_ai.response.model", answer.model)
        if answer.finish_reason:
            span.set_attribute("gen_ai.response.finish_reasons", [answer.finish_reason])
        if answer.usage is not None:
            span.set_attribute("gen_ai.usage.input_tokens", answer.usage.prompt)
            span.set_attribute("gen_ai.usage.output_tokens", answer.usage.completion)
            self._count_tokens(answer.model, answer.usage.prompt, answer.usage.completion)
        span.end()
        self._count_time({"gen_ai.response.model": answer.model} if answer.model else {})

    def _failed(self, kind: str) -> None:
        span, self._model = self._model, None
        if span is None:
            return
        self._failure = kind
        _mark(span, kind)
        span.end()
        self._count_time({"error.type": kind})

    def _call_finished(self, finished: engine.CallFinished) -> None:
        span, started = self._calls.pop(finished.call.position, (None, 0))
        if span is None:
            return
        span.set_attribute("gen_ai.tool.name", finished.call.name)
        span.set_attribute("gen_ai.tool.call.id", finished.call.id)
        span.set_attribute("gen_ai.tool.type", "function")
        if finished.result.is_error:
            kind = "outcome_unknown" if finished.result.outcome_unknown else "tool_error"
            _mark(span, kind)
        took = finished.duration_ms
        span.end(end_time=None if took is None else started + int(took * _MS))
        if took is not None:
            _tool_time.record(
                took / 1000,
                {"gen_ai.agent.name": self._agent, "gen_ai.tool.name": finished.call.name},
            )

    def _ended(self, ended: engine.RunEnded) -> None:
        failed = ended.outcome is Outcome.FAILED
        kind = ended.kind or self._failure
        broken_off = kind if failed else "cancelled"
        for span, _ in self._calls.values():
            _mark(span, broken_off)
            span.end()
        self._failed(broken_off)
        if self._run is not None:
            if failed:
                _mark(self._run, kind)
            self._run.set_attribute("rasa_react_ext.outcome", ended.outcome.value)
            self._run.set_attribute("rasa_react_ext.model_calls", ended.model_calls)
            self._run.end()
        self._calls, self._run = {}, None

    def _count_time(self, more: Mapping[str, str]) -> None:
        took = time.monotonic() - self._asked_at
        _model_time.record(took, {**self._common, **more})

    def _count_tokens(self, model: str, prompt: int, completion: int) -> None:
        attributes = {**self._common, "gen_ai.response.model": model}
        for kind, count in (("input", prompt), ("output", completion)):
            _model_tokens.record(count, {**attributes, "gen_ai.token.type": kind})

    @property
    def _common(self) -> dict[str, str]:
        return {"gen_ai.operation.name": _CHAT, **self._asked.attributes}


def _mark(span: Span, kind: str) -> None:
    """Make a failure of a span."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, kind))
