"""Spans and metrics of a run, seen by in-memory exporters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.decision import Outcome
from rasa_react_ext.engine.message import ModelAnswer, TokenUsage
from rasa_react_ext.engine.tool import ToolResult
from rasa_react_ext.host.observe import telemetry

ANSWER = ModelAnswer(
    text="secret words",
    finish_reason="stop",
    usage=TokenUsage(prompt=10, completion=2),
    model="gpt",
)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Finished spans of the test, from a provider of its own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracer", provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


def _run(*seen: engine.Occurrence, outcome: Outcome = Outcome.COMPLETED) -> None:
    watcher = telemetry.Telemetry("desk", "customer")
    ended = engine.RunEnded(outcome=outcome, reason="why", model_calls=1, tokens=12)
    for occurrence in (engine.RunStarted(tools=()), *seen, ended):
        watcher.on(occurrence)


def _finished(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def _asked() -> engine.ModelAsked:
    return engine.ModelAsked(attempt=1, messages=1, closing=None)


def _tool(*, is_error: bool = False) -> tuple[engine.Occurrence, engine.Occurrence]:
    call = Planned(position=0, id="c1", name="find", arguments={"q": "secret words"})
    result = ToolResult(text="secret words", is_error=is_error)
    return engine.CallStarted(call=call), engine.CallFinished(
        call=call, result=result, duration_ms=7.0, batch=1
    )


def test_a_run_its_model_call_and_its_tool_are_spans_by_the_conventions(
    spans: InMemorySpanExporter,
) -> None:
    _run(_asked(), engine.ModelAnswered(answer=ANSWER), *_tool())
    finished = _finished(spans)
    assert set(finished) == {"invoke_agent desk", "chat gpt", "execute_tool find"}
    run = finished["invoke_agent desk"]
    chat = finished["chat gpt"]
    tool = finished["execute_tool find"]
    assert _attributes(run)["gen_ai.operation.name"] == "invoke_agent"
    assert _attributes(chat)["gen_ai.usage.input_tokens"] == 10
    assert _attributes(chat)["gen_ai.response.finish_reasons"] == ("stop",)
    assert _attributes(tool)["gen_ai.tool.call.id"] == "c1"
    for child in (chat, tool):
        assert child.parent is not None
        assert child.parent.span_id == run.context.span_id


def test_the_run_joins_the_trace_that_is_current(spans: InMemorySpanExporter) -> None:
    outer = telemetry._tracer.start_span("host")
    with trace.use_span(outer, end_on_exit=True):
        _run()
    finished = _finished(spans)
    assert finished["invoke_agent desk"].context.trace_id == finished["host"].context.trace_id


def test_nothing_that_was_said_is_captured(spans: InMemorySpanExporter) -> None:
    _run(_asked(), engine.ModelAnswered(answer=ANSWER), *_tool())
    assert "secret words" not in str([span.to_json() for span in spans.get_finished_spans()])


def test_a_tools_span_lasts_as_long_as_the_tool_did(spans: InMemorySpanExporter) -> None:
    _run(*_tool())
    span = _finished(spans)["execute_tool find"]
    assert span.start_time is not None
    assert span.end_time is not None
    assert (span.end_time - span.start_time) / 1_000_000 == pytest.approx(7.0, abs=1.0)


@pytest.mark.parametrize(
    ("seen", "name", "kind"),
    [
        (
            (
                _asked(),
                engine.ModelFailed(kind="timeout", message="slow", retry_in_seconds=None),
            ),
            "chat",
            "timeout",
        ),
        (_tool(is_error=True), "execute_tool find", "tool_error"),
    ],
)
def test_a_failure_is_an_error_of_its_span(
    spans: InMemorySpanExporter,
    seen: tuple[engine.Occurrence, ...],
    name: str,
    kind: str,
) -> None:
    _run(*seen)
    span = _finished(spans)[name]
    assert span.status.status_code is StatusCode.ERROR
    assert _attributes(span)["error.type"] == kind


def test_a_turn_that_breaks_off_leaves_no_span_open(spans: InMemorySpanExporter) -> None:
    started, _ = _tool()
    _run(_asked(), started, outcome=Outcome.FAILED)
    finished = _finished(spans)
    assert set(finished) == {"invoke_agent desk", "chat", "execute_tool find"}
    assert finished["invoke_agent desk"].status.status_code is StatusCode.ERROR


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})
