from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from rasa_react_ext.testing.chat import Chat


class _Talk:
    """A conversation that echoes."""

    async def say(self, text: str) -> list[dict[str, Any]]:
        return [
            {"event": "user", "text": text},
            {"event": "mcp_tool_executed", "tool_name": "find", "arguments": {}, "result": "x"},
            {"event": "slot", "name": "said", "value": text},
            {"event": "bot", "text": f"You said {text}."},
            {"event": "bot", "text": None},
        ]

    async def slots(self) -> dict[str, Any]:
        return {"said": "all"}


@pytest.fixture
def chat() -> Iterator[Chat]:
    with start_blocking_portal() as portal:
        yield Chat(_Talk(), portal)


def test_a_turn_is_what_came_of_one_message(chat: Chat) -> None:
    turn = chat.say("hello")
    assert turn.bot == ["You said hello."]
    assert turn.tools == ["find"]
    assert [event["event"] for event in turn.events] == [
        "user",
        "mcp_tool_executed",
        "slot",
        "bot",
        "bot",
    ]
    assert chat.slots == {"said": "all"}


def test_the_transcript_tells_everything_in_order_also_what_was_said_as_a_command(
    chat: Chat,
) -> None:
    chat.say("/session_start")
    chat.say("hello")
    assert chat.transcript.splitlines() == [
        "user   /session_start",
        "tool   find() -> x",
        "slot   said = '/session_start'",
        "bot    You said /session_start.",
        "user   hello",
        "tool   find() -> x",
        "slot   said = 'hello'",
        "bot    You said hello.",
    ]
