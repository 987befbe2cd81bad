"""The one deadline of a user turn (design D3.1).

The host holds a conversation's lock for a fixed time after the message arrived
and never extends it. Whatever an agent does must be over before that.
"""

from __future__ import annotations

import time

import structlog
from rasa.core.lock_store import LOCK_LIFETIME
from rasa.tracing.turn import get_current_turn_input_anchor

__all__ = ["lock_seconds", "turn_deadline", "warn_if_clamped"]

RESERVE_SECONDS = 10.0
_log = structlog.get_logger()


def lock_seconds() -> float:
    """Seconds from the arrival of a message in which all agents must be done."""
    lifetime = float(LOCK_LIFETIME)
    return lifetime - min(RESERVE_SECONDS, lifetime / 2)


def turn_deadline(timeout_seconds: float | None) -> float:
    """Monotonic time at which this agent's part of the turn must be over.

    Args:
        timeout_seconds: The agent's own `configuration.timeout`; None has no limit of
            its own. The clock of the whole turn starts when the message arrived, which
            includes the time it waited for the lock.
    """
    now = time.monotonic()
    anchor = get_current_turn_input_anchor()
    arrived = anchor.triggered_at_monotonic if anchor is not None else None
    whole = min(arrived or now, now) + lock_seconds()
    return whole if timeout_seconds is None else min(whole, now + timeout_seconds)


def warn_if_clamped(agent: str, key: str, seconds: float | None) -> None:
    """Say at load that a configured time is longer than a turn can be."""
    if seconds is None or seconds <= lock_seconds():
        return
    _log.warning(
        "rasa_react_ext.agent.timeout_clamped",
        agent_name=agent,
        event_info=(
            f"sub_agents: {agent}: configuration: {key} is {seconds:g} s, but a turn ends "
            f"{lock_seconds():g} s after the message arrived (TICKET_LOCK_LIFETIME is "
            f"{LOCK_LIFETIME} s). The smaller number holds; raise TICKET_LOCK_LIFETIME or lower "
            f"{key}."
        ),
    )
