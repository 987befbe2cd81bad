"""OpenTelemetry span of one turn with an external agent, by the GenAI semantic conventions.

What is said is never part of it, also not in the text of an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

__all__ = ["external_turn"]

NAME = "rasa_react_ext"
_OPERATION = "invoke_agent"
_tracer = trace.get_tracer(NAME)
_time = metrics.get_meter(NAME).create_histogram(
    "gen_ai.client.operation.duration", unit="s", description="Time of an operation."
)


@contextmanager
def external_turn(agent: str, conversation: str) -> Generator[Callable[[str, bool], None]]:
    """A span, joined to the current trace, while the block runs.

    Args:
        agent: Name of the agent.
        conversation: Sender id.

    Yields:
        Takes the outcome: its name and whether it is a failure.
    """
    attributes = {
        "gen_ai.operation.name": _OPERATION,
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": conversation,
    }
    started = time.monotonic()
    with _tracer.start_as_current_span(
        f"{_OPERATION} {agent}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:

        def ended(outcome: str, failed: bool) -> None:
            span.set_attribute("rasa_react_ext.outcome", outcome)
            if failed:
                span.set_status(Status(StatusCode.ERROR, outcome))

        try:
            yield ended
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise
        finally:
            took = time.monotonic() - started
            _time.record(took, {"gen_ai.operation.name": _OPERATION, "gen_ai.agent.name": agent})
