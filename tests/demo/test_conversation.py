from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from demo.conversation import Turn, awaits_more, check_turn, read_conversation
from demo.failure import DemoError

SAID = {"event": "bot", "text": "It trades at 5 EUR."}
CALLED = {"event": "mcp_tool_executed", "tool_name": "price", "is_error": False}
ENDED = {"event": "agent_completed", "agent_id": "explorer"}


def test_the_conversation_of_the_sample_can_be_read() -> None:
    turns = read_conversation()
    assert {name for turn in turns for name in turn.finished} >= {
        "stock_explorer",
        "advisor_booking",
        "portfolio_report",
        "risk_report",
    }


def test_a_turn_that_went_as_written_passes() -> None:
    turn = Turn(user="How much?", bot=("5 EUR",), tools=("price",), finished=("explorer",))
    check_turn(turn, [SAID, CALLED, ENDED])


@pytest.mark.parametrize(
    ("turn", "events", "problem"),
    [
        ({"bot": ["6 EUR"]}, [SAID], "did not say '6 EUR' but: It trades at 5 EUR."),
        ({"bot": []}, [], "said nothing"),
        ({"tools": []}, [SAID, CALLED], r"tools called: \['price'\]; expected: \[\]"),
        ({"tools": ["price"]}, [SAID], "tools called: none"),
        ({"finished": ["explorer"]}, [SAID], "explorer did not finish"),
        (
            {},
            [SAID, {**CALLED, "is_error": True, "error_message": "shut"}],
            "the tool price failed: shut",
        ),
        (
            {},
            [SAID, {"event": "flow_started", "flow_id": "pattern_internal_error"}],
            "internal error",
        ),
    ],
)
def test_a_turn_that_went_wrong_is_named_with_the_reason(
    turn: dict[str, Any], events: list[dict[str, Any]], problem: str
) -> None:
    with pytest.raises(DemoError, match=f"After 'How much.': .*{problem}"):
        check_turn(Turn(user="How much?", **turn), events)


@pytest.mark.parametrize(
    ("happened", "more"), [([], True), ([SAID], True), ([ENDED], True), ([SAID, ENDED], False)]
)
def test_a_turn_awaits_what_an_agent_in_the_background_says_or_ends(
    happened: list[dict[str, Any]], more: bool
) -> None:
    assert awaits_more(Turn(user="And?", bot=("5 EUR",), finished=("explorer",)), happened) is more


def test_what_the_host_reports_as_an_error_fails_the_turn() -> None:
    with pytest.raises(DemoError, match="Rasa reports: no such slot"):
        check_turn(Turn(user="How much?"), [SAID], ["no such slot"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("turns: [{user: hi, bott: [x]}]", "turns.0.bott"),
        ("turns: [", "cannot be read"),
        ("{}", "turns: Field required"),
    ],
)
def test_a_conversation_with_a_mistake_is_refused_with_its_place(
    tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "conversation.yml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DemoError, match=problem) as refusal:
        read_conversation(file)
    assert str(file) in str(refusal.value)


def test_a_conversation_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="cannot be read"):
        read_conversation(tmp_path / "none.yml")
