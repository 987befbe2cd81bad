"""A turn with a remote agent is a span of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rasa_react_ext.host.observe import external as observe
from tests.host.external.words import says
from tests.host.project import Project, loaded

pytestmark = pytest.mark.host


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Finished spans of the test, from a provider of its own."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(observe, "_tracer", provider.get_tracer("test"))
    yield exporter
    provider.shutdown()


@pytest.mark.parametrize(
    ("order", "outcome", "failed"),
    [("echo Bought.", "completed", False), ("ask", "input_required", False), ("fail", None, True)],
)
async def test_a_turn_with_an_external_agent_is_a_span_with_its_outcome_and_no_words(
    trading: Project,
    spans: InMemorySpanExporter,
    order: str,
    outcome: str | None,
    failed: bool,
) -> None:
    async with loaded(trading) as agent:
        await says(agent, f"start trade {order}")
    (span,) = spans.get_finished_spans()
    attributes: dict[str, Any] = dict(span.attributes or {})
    assert (span.name, span.kind) == ("invoke_agent broker", SpanKind.CLIENT)
    assert attributes["gen_ai.conversation.id"] == "anna"
    if outcome is not None:
        assert attributes["rasa_react_ext.outcome"] == outcome
    assert (span.status.status_code is StatusCode.ERROR) == failed
    assert "Bought" not in span.to_json()
    assert "start trade" not in span.to_json()


def test_an_error_is_named_by_its_kind_only(spans: InMemorySpanExporter) -> None:
    with pytest.raises(RuntimeError), observe.external_turn("broker", "anna"):
        raise RuntimeError("secret words")
    (span,) = spans.get_finished_spans()
    assert dict(span.attributes or {})["error.type"] == "RuntimeError"
    assert span.status.status_code is StatusCode.ERROR
    assert "secret words" not in span.to_json()
