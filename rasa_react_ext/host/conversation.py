"""What was said, as chat messages: a window of utterances, cheap for long talks.

Only the end of the event list is read, so the cost does not grow with the length
of a conversation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import islice
from typing import Any

from rasa.agents.protocol.mcp.mcp_base_agent import (
    END_PREVIOUS_RUN_MARKER,
    PREVIOUS_RUN_MARKER,
)
from rasa.shared.core.constants import MOCKED_DATETIME_SLOT
from rasa.shared.core.events import (
    AgentCompleted,
    AgentStarted,
    BotUttered,
    Event,
    SlotSet,
    UserUttered,
)
from rasa.shared.utils.llm import serialize_bot_response_for_prompt

__all__ = ["last_values", "mocked_datetime", "window"]

FIXTURE_EVENTS = 50
LOOK_BACK = 300
SLOTS_LOOK_BACK = 2000


def window(
    events: Sequence[Event], turns: int, *, restarted_agent: str | None = None
) -> list[dict[str, Any]]:
    """The last `turns` utterances as user and assistant messages.

    Args:
        events: Events of the conversation, oldest first.
        turns: Utterances to show, users' and the assistant's counted alike.
        restarted_agent: Name of an agent that begins anew: the utterances of its last
            completed run are marked, as the prompt says.
    """
    entries: list[tuple[int, str, str]] = []
    place = len(events)
    while place > 0 and len(entries) < turns:
        place -= 1
        event = events[place]
        if isinstance(event, (UserUttered, BotUttered)) and (text := _text(event)):
            role = "user" if isinstance(event, UserUttered) else "assistant"
            entries.append((place, role, text))
    region = _completed_run(events, restarted_agent, place) if restarted_agent else range(0)
    return _marked(entries[::-1], region)


def _completed_run(events: Sequence[Event], agent: str, oldest: int) -> range:
    """Places of the agent's last completed run, looked for not far behind the window."""
    end: int | None = None
    start: int | None = None
    for place in range(len(events) - 1, max(-1, oldest - LOOK_BACK), -1):
        event = events[place]
        if isinstance(event, AgentCompleted) and event.agent_id == agent:
            if end is not None:
                break
            end = place
        elif end is not None and isinstance(event, AgentStarted) and event.agent_id == agent:
            start = place
    if end is None:
        return range(0)
    return range(oldest if start is None else start, end + 1)


def _marked(entries: Sequence[tuple[int, str, str]], region: range) -> list[dict[str, Any]]:
    inside = [place for place, _, _ in entries if place in region]
    messages: list[dict[str, Any]] = []
    for place, role, text in entries:
        before = f"{PREVIOUS_RUN_MARKER}\n" if inside and place == inside[0] else ""
        after = f"\n{END_PREVIOUS_RUN_MARKER}" if inside and place == inside[-1] else ""
        messages.append({"role": role, "content": f"{before}{text}{after}"})
    return messages


def last_values(events: Sequence[Event], names: Collection[str]) -> dict[str, Any]:
    """The newest value of each of these slots that was not null, looked for not too far back."""
    found: dict[str, Any] = {}
    for event in reversed(events[-SLOTS_LOOK_BACK:]):
        if len(found) == len(names):
            break
        if isinstance(event, SlotSet) and event.key in names and event.value is not None:
            found.setdefault(event.key, event.value)
    return found


def mocked_datetime(events: Sequence[Event]) -> str | None:
    """The date an e2e test fixture set, which the host does not hand to agents as a slot."""
    for event in islice(events, FIXTURE_EVENTS):
        if isinstance(event, SlotSet) and event.key == MOCKED_DATETIME_SLOT:
            return str(event.value) if event.value else None
    return None


def _text(event: UserUttered | BotUttered) -> str:
    if isinstance(event, UserUttered):
        return event.text or ""
    return serialize_bot_response_for_prompt(event) or ""
