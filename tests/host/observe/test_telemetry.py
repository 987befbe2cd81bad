"""Spans and metrics of a run, seen by in-memory exporters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
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
from rasa_react_ext.host.observe.asked_model import AskedModel

ASKED = AskedModel(name="gpt-latest", provider="openai")

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


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemoryMetricReader]:
    """Times of model calls of the test, from a provider of its own."""
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    histogram = provider.get_meter("test").create_histogram("time")
    monkeypatch.setattr(telemetry, "_model_time", histogram)
    yield reader
    provider.shutdown()


def _run(*seen: engine.Occurrence, outcome: Outcome = Outcome.COMPLETED, kind: str = "") -> None:
    watcher = telemetry.Telemetry("desk", "customer", ASKED)
    ended = engine.RunEnded(
        outcome=outcome, reason="secret words", model_calls=1, tokens=12, kind=kind
    )
    for occurrence in (engine.RunStarted(tools=()), *seen, ended):
        watcher.on(occurrence)


def _finished(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


def _asked() -> engine.ModelAsked:
    return engine.ModelAsked(attempt=1, messages=1, closing=None)


def _answered(finish_reason: str = "stop") -> engine.ModelAnswered:
    return engine.ModelAnswered(answer=replace(ANSWER, finish_reason=finish_reason))


def _failure(kind: str) -> engine.ModelFailed:
    return engine.ModelFailed(kind=kind, message="secret words", retry_in_seconds=None)


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
    assert set(finished) == {"invoke_agent desk", "chat gpt-latest", "execute_tool find"}
    run = finished["invoke_agent desk"]
    chat = finished["chat gpt-latest"]
    tool = finished["execute_tool find"]
    assert _attributes(run)["gen_ai.operation.name"] == "invoke_agent"
    for span in (run, chat):
        assert _attributes(span)["gen_ai.provider.name"] == "openai"
        assert _attributes(span)["gen_ai.request.model"] == "gpt-latest"
    assert _attributes(chat)["gen_ai.response.model"] == "gpt"
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
    failed = _failure("refused_request")
    _run(_asked(), engine.ModelAnswered(answer=ANSWER), *_tool(is_error=True), _asked(), failed)
    _run(_asked(), failed, outcome=Outcome.FAILED)
    _run(*_tool()[:1], outcome=Outcome.FAILED)
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
                _failure("timeout"),
            ),
            "chat gpt-latest",
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
    assert set(finished) == {"invoke_agent desk", "chat gpt-latest", "execute_tool find"}
    assert finished["invoke_agent desk"].status.status_code is StatusCode.ERROR


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        ((_answered(), _failure("rate_limit")), "rate_limit"),
        ((_failure("rate_limit"), _answered()), "_OTHER"),
        ((_answered("content_filter"),), "content_filter"),
        ((), "_OTHER"),
    ],
)
def test_a_turn_that_fails_bears_the_class_of_its_last_failure(
    spans: InMemorySpanExporter, seen: tuple[engine.Occurrence, ...], kind: str
) -> None:
    _run(*(each for last in seen for each in (_asked(), last)), outcome=Outcome.FAILED)
    run = _finished(spans)["invoke_agent desk"]
    assert (_attributes(run)["error.type"], run.status.description) == (kind, kind)


@pytest.mark.parametrize("seen", [(), (_failure("rate_limit"),), (_answered(),)])
def test_a_turn_that_fails_by_something_else_bears_the_class_of_that(
    spans: InMemorySpanExporter, seen: tuple[engine.Occurrence, ...]
) -> None:
    _run(_asked(), *seen, _tool()[0], outcome=Outcome.FAILED, kind="steps_limit")
    finished = _finished(spans)
    run, tool = finished["invoke_agent desk"], finished["execute_tool find"]
    assert (_attributes(run)["error.type"], run.status.description) == ("steps_limit",) * 2
    assert _attributes(tool)["error.type"] == "steps_limit"


@pytest.mark.parametrize(
    ("seen", "outcome", "more"),
    [
        ((_answered(),), Outcome.COMPLETED, {"gen_ai.response.model": "gpt"}),
        ((_failure("timeout"),), Outcome.FAILED, {"error.type": "timeout"}),
        ((), Outcome.CANCELLED, {"error.type": "cancelled"}),
        ((), Outcome.FAILED, {"error.type": "_OTHER"}),
    ],
)
def test_every_model_call_is_timed_by_model_and_provider_and_a_failed_one_by_its_class(
    times: InMemoryMetricReader,
    seen: tuple[engine.Occurrence, ...],
    outcome: Outcome,
    more: dict[str, str],
) -> None:
    _run(_asked(), *seen, outcome=outcome)
    (point,) = _points(times)
    assert (point.count, dict(point.attributes)) == (
        1,
        {"gen_ai.operation.name": "chat", **ASKED.attributes, **more},
    )


def _points(reader: InMemoryMetricReader) -> list[Any]:
    data = reader.get_metrics_data()
    assert data is not None
    return [
        point
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in metric.data.data_points
    ]


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})
