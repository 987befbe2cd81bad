"""Events from users' code, in whatever form it gives them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import structlog
from rasa.shared.core.events import Event

__all__ = ["as_events"]

_log = structlog.get_logger()


def as_events(given: Iterable[Any], agent: str) -> list[Event]:
    """Host events; dicts as `rasa_sdk` makes them are read, anything else is dropped.

    Args:
        given: What a hook or an executor returned.
        agent: Name of the agent, for the log.
    """
    if isinstance(given, (Event, dict)):
        given = [given]
    events: list[Event] = []
    for item in given:
        event = _read(item)
        if event is None:
            _log.warning(
                "rasa_react_ext.hook.event_dropped",
                agent_name=agent,
                event_type=type(item).__name__,
                event_info=(
                    f"A hook of agent {agent!r} returned something that is no Rasa event; it was "
                    "left out. Return events of rasa.shared.core.events or their dict form."
                ),
            )
        else:
            events.append(event)
    return events


def _read(item: Any) -> Event | None:
    if isinstance(item, Event):
        return item
    if not isinstance(item, dict):
        return None
    try:
        event = Event.from_parameters(item)
    except Exception:  # noqa: BLE001 - the host raises what the fields make it raise
        return None
    if event is not None and not isinstance(event.metadata, dict):
        event.metadata = {}
    return event
