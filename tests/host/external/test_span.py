"""A turn with a remote agent is a span of its own, and so is what happens to its task later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rasa_react_ext.host.observe import external as observe
from rasa_react_ext.testing import ModelServer
from tests.a2a_client.remote import Remote, remote
from tests.host.external.server import Server, free_port, served
from tests.host.external.words import COMMANDS, external, says
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


@pytest.fixture
def reporter() -> Iterator[Remote]:
    """A remote agent that reports by itself."""
    with remote(push=True) as agent:
        yield agent


@pytest.fixture
async def server(project: Project, model: ModelServer, reporter: Remote) -> AsyncIterator[Server]:
    """The assistant, whose user may go on while the agent works."""
    model.use(COMMANDS)
    port = free_port()
    trading = external(project, reporter, push_notification_url=f"http://127.0.0.1:{port}")
    settings = {"allow_private_push_url": True, "busy": "free"}
    async with served(trading.with_settings(agents={"broker": settings}), port) as running:
        yield running


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


async def test_the_report_of_a_background_task_is_a_span_linked_to_the_turn_that_began_it(
    server: Server, reporter: Remote, spans: InMemorySpanExporter
) -> None:
    await server.says("start trade wait")
    reporter.release()
    delivered = await _finished(spans, "deliver_report broker", "delivered")
    turn = await _finished(spans, "invoke_agent broker", "input_required")
    (link,) = delivered.links
    assert link.context.span_id == turn.context.span_id
    assert link.context.trace_id == turn.context.trace_id
    assert delivered.context.trace_id != turn.context.trace_id
    assert delivered.kind is SpanKind.CONSUMER
    told = dict(delivered.attributes or {})
    assert told["gen_ai.conversation.id"] == "anna"
    assert told["rasa_react_ext.task.id"] == dict(turn.attributes or {})["rasa_react_ext.task.id"]
    assert "At last" not in "".join(span.to_json() for span in spans.get_finished_spans())


async def test_the_cancel_of_a_background_task_is_a_span_linked_to_the_turn_that_began_it(
    server: Server, reporter: Remote, spans: InMemorySpanExporter
) -> None:
    await server.says("start trade wait")
    await server.says("cancel")
    cancelled = await _finished(spans, "cancel_task broker", "cancelled")
    turn = await _finished(spans, "invoke_agent broker", "input_required")
    (link,) = cancelled.links
    assert link.context.span_id == turn.context.span_id
    assert cancelled.kind is SpanKind.CLIENT
    assert reporter.done["cancelled"] >= 1


def test_an_error_is_named_by_its_kind_only(spans: InMemorySpanExporter) -> None:
    with pytest.raises(RuntimeError), observe.external_turn("broker", "anna"):
        raise RuntimeError("secret words")
    (span,) = spans.get_finished_spans()
    assert dict(span.attributes or {})["error.type"] == "RuntimeError"
    assert span.status.status_code is StatusCode.ERROR
    assert "secret words" not in span.to_json()


@pytest.mark.parametrize("origin", ["", "nonsense", "00-00-00-00"])
def test_a_task_without_a_trace_has_no_link(spans: InMemorySpanExporter, origin: str) -> None:
    with observe.external_after_turn("deliver_report", "broker", "anna", origin) as watch:
        watch.ended("delivered")
    (span,) = spans.get_finished_spans()
    assert span.links == ()


async def _finished(spans: InMemorySpanExporter, name: str, outcome: str) -> ReadableSpan:
    """The first span of that name and outcome, as soon as it has ended."""
    async with asyncio.timeout(15):
        while True:
            for span in spans.get_finished_spans():
                told = dict(span.attributes or {})
                if (span.name, told.get("rasa_react_ext.outcome")) == (name, outcome):
                    return span
            await asyncio.sleep(0.02)
