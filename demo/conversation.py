"""The conversation that the demo plays, and whether a turn went as it should.

Owns the form of `data/conversation.yml`; pure apart from reading it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from demo.backend import ROOT
from demo.failure import DemoError

__all__ = ["CONVERSATION", "Turn", "awaits_more", "check_turn", "read_conversation"]

CONVERSATION = ROOT / "data" / "conversation.yml"


class Turn(BaseModel):
    """What the user says and what must come of it; `data/conversation.yml` explains the keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    user: str
    bot: tuple[str, ...] = ()
    tools: tuple[str, ...] | None = None
    finished: tuple[str, ...] = ()
    report: Literal["finished"] | None = None


class _Conversation(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: tuple[Turn, ...]


def read_conversation(path: Path = CONVERSATION) -> tuple[Turn, ...]:
    """Read a conversation.

    Raises:
        DemoError: If the file cannot be read or says something it cannot say.
    """
    try:
        return _Conversation.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))).turns
    except ValidationError as invalid:
        first = invalid.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DemoError(f"{path}: {place}: {first['msg']}.") from invalid
    except (OSError, yaml.YAMLError) as unreadable:
        problem = " ".join(str(unreadable).split())
        raise DemoError(f"{path} cannot be read: {problem}") from unreadable


def check_turn(turn: Turn, events: Sequence[Mapping[str, Any]], errors: Sequence[str] = ()) -> None:
    """Compare what happened with what must come of a turn.

    Args:
        turn: What was said and what is expected.
        events: The host's events of the turn.
        errors: What the host reported as errors meanwhile.

    Raises:
        DemoError: If something is missing, failed or was not expected.
    """
    reported = [f"Rasa reports: {error}" for error in errors]
    for problem in [*reported, *_problems(turn, events)]:
        raise DemoError(f"After {turn.user!r}: {problem}")


def awaits_more(turn: Turn, events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether something that must come of a turn may still come by itself."""
    said, ended = _said(events), _ended(events)
    return not all(words in said for words in turn.bot) or not ended.issuperset(turn.finished)


def _said(events: Sequence[Mapping[str, Any]]) -> str:
    return " / ".join(text for text in _values(events, "bot", "text") if text != "None")


def _ended(events: Sequence[Mapping[str, Any]]) -> set[str]:
    flows = _values(events, "flow_completed", "flow_id")
    return {*flows, *_values(events, "agent_completed", "agent_id")}


def _values(events: Sequence[Mapping[str, Any]], kind: str, key: str) -> list[str]:
    return [str(event.get(key)) for event in events if event.get("event") == kind]


def _problems(turn: Turn, events: Sequence[Mapping[str, Any]]) -> list[str]:
    heard, ended = _said(events), _ended(events)
    called = _values(events, "mcp_tool_executed", "tool_name")
    problems = [
        f"the tool {event['tool_name']} failed: {event.get('error_message')}"
        for event in events
        if event.get("event") == "mcp_tool_executed" and event.get("is_error")
    ]
    if "pattern_internal_error" in _values(events, "flow_started", "flow_id"):
        problems.append("the assistant reported an internal error. --verbose shows more.")
    if not heard:
        problems.append("the bot said nothing.")
    if turn.tools is not None and sorted(turn.tools) != sorted(called):
        problems.append(f"tools called: {called or 'none'}; expected: {list(turn.tools)}.")
    absent = [words for words in turn.bot if words not in heard]
    problems += [f"the bot did not say {words!r} but: {heard}" for words in absent]
    problems += [f"{name} did not finish." for name in turn.finished if name not in ended]
    return problems
