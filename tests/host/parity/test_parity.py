"""What inspector, analytics and e2e tests read is the same with both engines.

The same conversation is played with the host's engine and with ours, each in a
process of its own. The pinned lists are taken from the host's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.host, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[3]
PLAY_SECONDS = 240
ENGINES = ("host", "ours")

EVERY_EVENT = {
    "active_flow",
    "assistant_id",
    "default_language",
    "model_id",
    "model_name",
    "session_id",
    "step_id",
}
BOT = EVERY_EVENT | {
    "agent_id",
    "agent_message_type",
    "agent_name",
    "llm_time_to_first_token_ms",
    "llm_total_time_ms",
    "utter_source",
}
STARTED = EVERY_EVENT | {"description", "excluded_mcp_tools", "mcp_tools", "protocol"}
METADATA = {
    "agent_started mcp_open": STARTED,
    "agent_started mcp_task": STARTED | {"exit_conditions"},
    "agent_completed mcp_open": EVERY_EVENT | {"protocol"},
    "agent_completed mcp_task": EVERY_EVENT | {"protocol"},
    "bot filler_message": BOT,
    "bot input_required": BOT,
    "bot final_response": BOT,
    "mcp_tool_executed": EVERY_EVENT | {"agent_id"},
    "slot size": EVERY_EVENT,
}
ADDED = {"mcp_tool_executed": {"tool_call_id", "tool_batch_id", "duration_ms"}}
FIELDS = {
    "agent_started": {"agent_id", "flow_id"},
    "agent_completed": {"agent_id", "flow_id", "status"},
    "bot": {"anonymized_at", "data", "text"},
    "mcp_tool_executed": {"arguments", "error_message", "is_error", "result", "tool_name"},
    "slot": {"anonymized_at", "filled_by", "name", "value"},
}
FRAME = {
    "active_flow",
    "agent_message_type",
    "agent_name",
    "agent_response",
    "step_id",
    "structured_results",
    "utter_source",
}
SAID = [
    ("MCPOpenAgent", "filler_message", "Let me look."),
    ("MCPOpenAgent", "input_required", "There is a lamp. Shall I reserve it?"),
    ("MCPOpenAgent", "filler_message", "I reserve it."),
    ("MCPOpenAgent", "final_response", "It is yours."),
    ("MCPTaskAgent", "input_required", "Which size?"),
    ("MCPTaskAgent", "filler_message", "Noted."),
]
DROPPED = ("MCPTaskAgent", "filler_message", "Noted.")
"""Beside set-slot calls that complete the run, a text is not sent (design D3.9)."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What each engine left of the conversation, both played at the same time."""
    environment = os.environ | {
        "OPENAI_API_KEY": "offline",
        "RASA_CACHE_DIRECTORY": str(tmp_path_factory.mktemp("cache")),
        "RASA_TELEMETRY_ENABLED": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "PYTHONPATH": str(ROOT),
    }
    plays = {
        engine: subprocess.Popen(
            [sys.executable, "-m", "tests.host.parity.play", engine],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for engine in ENGINES
    }
    try:
        yield {engine: _result(play) for engine, play in plays.items()}
    finally:
        for play in plays.values():
            play.kill()
            play.communicate()


def _result(play: subprocess.Popen[str]) -> Any:
    output, errors = play.communicate(timeout=PLAY_SECONDS)
    assert play.returncode == 0, errors[-3000:]
    return json.loads(output.strip().splitlines()[-1])


def test_d1_without_the_line_a_fresh_process_has_the_hosts_engine(played: dict[str, Any]) -> None:
    identifiers = {"clerk::mcp_open", "clerk::mcp_task"}
    assert played["host"]["engines"] == dict.fromkeys(identifiers, "rasa")
    assert played["ours"]["engines"] == dict.fromkeys(identifiers, "rasa_react_ext")


@pytest.mark.parametrize("engine", ENGINES)
def test_d2_events_have_the_pinned_metadata_keys(played: dict[str, Any], engine: str) -> None:
    seen = {_kind(event): set(event["metadata"]) for event in _agents_events(played[engine])}
    added = ADDED if engine == "ours" else {}
    assert seen == {kind: keys | added.get(kind, set()) for kind, keys in METADATA.items()}


@pytest.mark.parametrize("engine", ENGINES)
def test_d2_events_have_the_pinned_fields(played: dict[str, Any], engine: str) -> None:
    common = {"event", "timestamp", "metadata"}
    for event in _agents_events(played[engine]):
        assert set(event) - common == FIELDS[event["event"]]


def test_d2_everything_around_the_agents_happens_in_the_same_order(played: dict[str, Any]) -> None:
    ours, host = (_around(played[engine]) for engine in ("ours", "host"))
    assert ours == host
    assert ["flow_completed", "shop"] in ours
    assert ["agent_completed", "booking"] in ours
    assert ["bot", "Come again."] in ours


def test_d2_agents_say_the_same_under_the_same_names(played: dict[str, Any]) -> None:
    assert _said(played["host"]) == SAID
    assert _said(played["ours"]) == [said for said in SAID if said != DROPPED]


def test_d2_tool_events_tell_the_same_and_slots_get_the_same_values(
    played: dict[str, Any],
) -> None:
    wanted = [
        ("look_up", {"item": "lamp"}, False, None, "clerk::mcp_open"),
        ("reserve", {"item": "lamp"}, False, None, "clerk::mcp_open"),
    ]
    for engine in ENGINES:
        events = _agents_events(played[engine])
        assert [_told(event) for event in events if event["event"] == "mcp_tool_executed"] == wanted
        slots = [(e["name"], e["value"]) for e in events if e["event"] == "slot"]
        assert slots == [("size", "L")]


def test_d3_9_tools_come_before_the_text_that_they_led_to(played: dict[str, Any]) -> None:
    assert [output["events"] for output in played["ours"]["outputs"]] == [
        ["bot", "mcp_tool_executed", "bot"],
        ["bot", "mcp_tool_executed", "bot"],
        ["bot"],
        ["slot"],
    ]


def test_d2_the_waiting_frame_has_the_hosts_keys_and_our_memory(played: dict[str, Any]) -> None:
    for engine, keys in (("host", FRAME), ("ours", FRAME | {"rasa_react_ext"})):
        frames = played[engine]["frames"]
        assert [set(frame) for frame in frames] == [keys, set(), keys, set()]
    # The host forgets the question; with it, the user is reminded of it after a digression.
    assert [frame.get("agent_response") for frame in played["ours"]["frames"]] == [
        "There is a lamp. Shall I reserve it?",
        None,
        "Which size?",
        None,
    ]


def test_d2_outputs_have_the_same_fields_and_statuses(played: dict[str, Any]) -> None:
    ours, host = (played[engine]["outputs"] for engine in ("ours", "host"))
    assert [output["status"] for output in ours] == [output["status"] for output in host]
    for mine, theirs in zip(ours, host, strict=True):
        assert set(mine) == set(theirs)
        same = ("id", "task_id", "context_id", "timestamp", "error_message")
        assert [mine[field] for field in same] == [theirs[field] for field in same]
    names = [[result["name"] for result in turn] for turn in ours[1]["structured_results"]]
    assert names == [["look_up"], ["reserve"]]


def _agents_events(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The events that agents make or that tell of them."""
    return [event for event in result["events"] if _kind(event) in METADATA]


def _kind(event: dict[str, Any]) -> str:
    metadata = event.get("metadata") or {}
    detail = {
        "agent_started": metadata.get("protocol"),
        "agent_completed": metadata.get("protocol"),
        "bot": metadata.get("agent_message_type"),
        "slot": event.get("name"),
    }.get(event["event"])
    return f"{event['event']} {detail}" if detail else event["event"]


def _around(result: dict[str, Any]) -> list[list[str]]:
    """All events but those that agents make themselves, with what identifies them."""
    made = {kind for kind in METADATA if not kind.startswith("agent_")}
    names = ("flow_id", "name", "text")
    return [
        [event["event"], next((str(event[name]) for name in names if event.get(name)), "")]
        for event in result["events"]
        if _kind(event) not in made
    ]


def _said(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (
            event["metadata"]["utter_source"],
            event["metadata"]["agent_message_type"],
            event["text"],
        )
        for event in _agents_events(result)
        if event["event"] == "bot"
    ]


def _told(event: dict[str, Any]) -> tuple[Any, ...]:
    fields = ("tool_name", "arguments", "is_error", "error_message")
    return (*(event[field] for field in fields), event["metadata"]["agent_id"])
