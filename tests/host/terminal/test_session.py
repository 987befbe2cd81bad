"""The terminal's channel and watcher, apart from a terminal."""

from __future__ import annotations

from typing import Any

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.tool import Tool, ToolResult
from rasa_react_ext.host.terminal.channel import TerminalChannel, ToolWatcher


class Shown:
    """Keeps what it is shown (a `View`)."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def piece(self, text: str) -> None:
        self.calls.append(("piece", text))

    def end(self, *, interrupted: bool) -> None:
        self.calls.append(("end", interrupted))

    def message(self, text: str) -> None:
        self.calls.append(("message", text))

    def tool_started(self, tool: str, arguments: dict[str, Any]) -> None:
        self.calls.append(("started", tool, arguments))

    def tool_finished(self, tool: str, *, seconds: float | None, is_error: bool) -> None:
        self.calls.append(("finished", tool, seconds, is_error))

    def slot(self, name: str, value: Any) -> None:
        self.calls.append(("slot", name, value))


async def test_streamed_pieces_are_shown_as_they_come_and_an_interruption_is_told() -> None:
    shown = Shown()
    channel = TerminalChannel(shown)
    await channel.send_response_chunk_start("me")
    await channel.send_response_chunk(recipient_id="me", chunk="Hel")
    await channel.send_response_chunk_end("me", interrupted=True)
    assert shown.calls == [("piece", "Hel"), ("end", True)]


async def test_choices_are_listed_below_their_text() -> None:
    shown = Shown()
    await TerminalChannel(shown).send_text_with_buttons("me", "Which?", [{"title": "A"}])
    assert shown.calls == [("message", "Which?\n  - A")]


def test_a_tool_is_shown_when_it_starts_and_when_it_has_answered() -> None:
    shown = Shown()
    watcher = ToolWatcher(shown)
    tool = Tool(name="find", description="", parameters={})
    call = Planned(position=0, id="c1", name="find", arguments={"q": 1}, tool=tool)
    result = ToolResult(text="gone", is_error=True)
    watcher.on(engine.CallStarted(call=call))
    watcher.on(engine.CallFinished(call=call, result=result, duration_ms=1500.0, batch=1))
    assert shown.calls == [("started", "find", {"q": 1}), ("finished", "find", 1.5, True)]
