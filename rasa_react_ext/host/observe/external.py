"""What goes on with an external agent, as OpenTelemetry spans and in the conversation's record.

A turn is a span by the GenAI semantic conventions. What happens to its task after the turn
is a span of its own, linked to the first, since hours may lie between them and another
process may do it. What is said is never part of a span, also not in the text of an error;
the record holds it, cut and without secrets.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

import structlog
from opentelemetry import metrics, trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from rasa_react_ext.host.observe.trace_record import TraceRecord

__all__ = ["ExternalWatch", "current_origin", "external_after_turn", "external_turn", "new_id"]

NAME = "rasa_react_ext"
_OPERATION = "invoke_agent"
_HEADER = "traceparent"
_tracer = trace.get_tracer(NAME)
_time = metrics.get_meter(NAME).create_histogram(
    "gen_ai.client.operation.duration", unit="s", description="Time of an operation."
)
_propagator = TraceContextTextMapPropagator()
_log = structlog.get_logger()


class ExternalWatch:
    """Takes note of what happens; without span and record it takes none."""

    def __init__(self, span: Span = trace.INVALID_SPAN, record: TraceRecord | None = None) -> None:
        self._span = span
        self._record = record
        self._in_background = False
        self._failure = ""

    @property
    def attributes(self) -> dict[str, str]:
        """The class of its failure, where it failed."""
        return {"error.type": self._failure} if self._failure else {}

    def asked(self) -> None:
        """The message goes out to the agent."""
        self._note("agent_asked")

    def accepted(self, task_id: str, context_id: str) -> None:
        """The agent has named its task."""
        self._span.set_attribute("rasa_react_ext.task.id", task_id)
        self._note("agent_accepted", task=task_id, context=context_id)

    def said(self, text: str) -> None:
        """The agent said something on the way."""
        if self._record is not None:
            self._note("agent_said", text=self._record.shown(text))

    def answered(self, state: str, text: str, task_id: str = "") -> None:
        """The agent has stopped, for now or for good."""
        if self._record is not None:
            self._note("agent_answered", state=state, text=self._record.shown(text), task=task_id)

    def went_on(self, task_id: str) -> None:
        """The task works on, and no turn waits for it."""
        self._in_background = True
        self._note("agent_in_background", task=task_id)

    def ended(
        self, outcome: str, *, failed: bool = False, reason: str = "", recorded: bool = True
    ) -> None:
        """How it ended.

        Args:
            outcome: Its name.
            failed: Whether it is a failure.
            reason: Why; for the record only.
            recorded: Whether the record takes it; the span does in any case.
        """
        if not recorded:
            self._record = None
        self._span.set_attribute("rasa_react_ext.outcome", outcome)
        if failed:
            self._mark(outcome)
        self._close(self._shown_outcome(outcome, failed=failed), reason)

    def broke(self, error: BaseException) -> None:
        """It was cancelled from outside, or a fault ended it."""
        kind = type(error).__name__
        self._mark(kind)
        self._close("failed" if isinstance(error, Exception) else "cancelled", kind)

    def _mark(self, kind: str) -> None:
        self._failure = kind
        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR, kind))

    def _shown_outcome(self, outcome: str, *, failed: bool) -> str:
        if failed:
            return "failed"
        waits = outcome in {"submitted", "input_required"}
        return "background" if self._in_background and waits else outcome

    def _note(self, what: str, **facts: str) -> None:
        if self._record is not None:
            self._record.add(what, **{key: fact for key, fact in facts.items() if fact})

    def _close(self, outcome: str, reason: str) -> None:
        record, self._record = self._record, None
        if record is None:
            return
        record.add("turn_ended", outcome=outcome, reason=record.shown(reason))
        try:
            record.write()
        except OSError as error:
            _log.error(
                "rasa_react_ext.observer.failed",
                observer=type(record).__name__,
                error=f"{type(error).__name__}: {error}",
                event_info=f"The record could not be written: {error}. The turn goes on.",
            )


@contextmanager
def external_turn(
    agent: str, conversation: str, record: TraceRecord | None = None
) -> Generator[ExternalWatch]:
    """Watch a turn; its span joins the current trace.

    Args:
        agent: Name of the agent.
        conversation: Sender id.
        record: Takes the lines; None where there is no record.

    Yields:
        Takes note of what happens, and of the outcome in the end.
    """
    started = time.monotonic()
    if record is not None:
        record.begin(kind="external")
    with _span(_OPERATION, agent, conversation, SpanKind.CLIENT, []) as span:
        watch = ExternalWatch(span, record)
        try:
            yield watch
        except BaseException as error:
            watch.broke(error)
            raise
        finally:
            took = time.monotonic() - started
            names = {"gen_ai.operation.name": _OPERATION, "gen_ai.agent.name": agent}
            _time.record(took, {**names, **watch.attributes})


@contextmanager
def external_after_turn(
    operation: str, agent: str, conversation: str, origin: str, record: TraceRecord | None = None
) -> Generator[ExternalWatch]:
    """Watch what happens to a task after its turn; its span is linked to that of the turn.

    Args:
        operation: `deliver_report` or `cancel_task`.
        agent: Name of the agent.
        conversation: Sender id.
        origin: What `current_origin` gave in the turn that began the task.
        record: Takes the lines; None where there is no record.

    Yields:
        Takes note of what happens, and of the outcome in the end.
    """
    if record is not None:
        record.begin(kind=operation)
    kind = SpanKind.CLIENT if operation == "cancel_task" else SpanKind.CONSUMER
    with _span(operation, agent, conversation, kind, _links(origin)) as span:
        watch = ExternalWatch(span, record)
        try:
            yield watch
        except BaseException as error:
            watch.broke(error)
            raise


def current_origin() -> str:
    """The current span in the form of a W3C `traceparent`; empty where nothing is traced."""
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get(_HEADER, "")


def new_id() -> str:
    """An id for the lines of one turn."""
    return uuid4().hex


def _links(origin: str) -> list[Link]:
    context = trace.get_current_span(_propagator.extract({_HEADER: origin})).get_span_context()
    return [Link(context)] if origin and context.is_valid else []


@contextmanager
def _span(
    operation: str, agent: str, conversation: str, kind: SpanKind, links: list[Link]
) -> Generator[Span]:
    with _tracer.start_as_current_span(
        f"{operation} {agent}",
        kind=kind,
        links=links,
        attributes={
            "gen_ai.operation.name": operation,
            "gen_ai.agent.name": agent,
            "gen_ai.conversation.id": conversation,
        },
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        yield span
