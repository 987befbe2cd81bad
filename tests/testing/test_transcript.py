from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.testing.transcript import Transcript, describe_call

CALL = {"event": "mcp_tool_executed", "tool_name": "buy", "result": "bought"}


def _read(*events: dict[str, Any]) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for line in Transcript().lines(events)]


def test_what_was_said_is_told_by_its_speaker() -> None:
    assert _read({"event": "user", "text": "Hello"}, {"event": "bot", "text": "Hi"}) == [
        ("user", "Hello"),
        ("bot", "Hi"),
    ]


@pytest.mark.parametrize(
    "event",
    [
        {"event": "user", "text": "/session_start"},
        {"event": "bot", "text": None},
        {"event": "session_started"},
        {"event": "action", "name": "action_listen"},
        {"event": "flow_started", "flow_id": "pattern_completed"},
        {"event": "slot", "name": "flow_hashes", "value": {"a": "b"}},
        {"event": "slot", "name": "amount", "value": None},
        {"event": "agent_processing", "agent_id": "explorer"},
    ],
)
def test_the_bookkeeping_of_the_host_is_left_out(event: dict[str, Any]) -> None:
    assert _read(event) == []


def test_the_start_of_an_agent_is_told_once_and_not_at_every_turn() -> None:
    start = {"event": "agent_started", "agent_id": "explorer"}
    end = {"event": "agent_completed", "agent_id": "explorer"}
    assert _read(start, start, end, start) == [
        ("agent", "agent explorer started"),
        ("agent", "agent explorer finished"),
        ("agent", "agent explorer started"),
    ]


def test_a_cancelled_flow_is_not_told_as_finished() -> None:
    cancelled = {"event": "flow_cancelled", "flow_id": "booking"}
    completed = {"event": "flow_completed", "flow_id": "booking"}
    started = {"event": "flow_started", "flow_id": "booking"}
    assert _read(cancelled, completed, started, completed) == [
        ("flow", "flow booking cancelled"),
        ("flow", "flow booking started"),
        ("flow", "flow booking finished"),
    ]


def test_a_slot_is_told_when_its_value_changes() -> None:
    def amount(value: Any) -> dict[str, Any]:
        return {"event": "slot", "name": "amount", "value": value}

    assert _read(amount(2.5), amount(2.5), amount(None)) == [
        ("slot", "amount = 2.5"),
        ("slot", "amount emptied"),
    ]


def test_a_tool_call_is_told_with_arguments_duration_and_result() -> None:
    event = {
        "tool_name": "fetch_live_price",
        "arguments": {"symbol": "NWND", "exact": True},
        "result": '{\n  "price": 1.5\n}',
        "metadata": {"duration_ms": 12.4},
    }
    assert describe_call(event) == (
        'fetch_live_price(symbol="NWND", exact=true) (12 ms) -> {"price": 1.5}'
    )


def test_a_transcript_without_durations_is_the_same_for_the_same_conversation() -> None:
    told = [
        [*Transcript(timed=False).lines([{**CALL, "metadata": {"duration_ms": took}}])]
        for took in (12.4, 99.9)
    ]
    assert told[0] == told[1]
    assert told[0][0].text == "buy() -> bought"


def test_a_failed_tool_call_is_told_with_its_error() -> None:
    event = {"tool_name": "buy", "is_error": True, "error_message": "closed\ntoday"}
    assert describe_call(event) == "buy() failed: closed today"


def test_a_long_result_is_cut() -> None:
    told = describe_call({"tool_name": "news", "result": "x" * 500})
    assert len(told) < 200
    assert told.endswith("…")
