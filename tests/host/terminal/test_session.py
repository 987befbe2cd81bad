"""The terminal's channels, watcher and progress, apart from a terminal."""

from __future__ import annotations

from typing import Any

import pytest
from rasa.agents.agent_manager import AgentManager
from rasa.agents.protocol.a2a.a2a_agent import A2AAgent
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.core.agent import Agent
from rasa.shared.core import events as host
from rasa.shared.core.slots import AnySlot
from rasa.shared.core.trackers import DialogueStateTracker

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.tool import Tool, ToolResult
from rasa_react_ext.host.agent import ReActAgent
from rasa_react_ext.host.terminal import conversing
from rasa_react_ext.host.terminal.channel import Terminal, ToolWatcher


class Shown:
    """Keeps what it is shown (a `View`)."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def ask(self) -> None:
        self.calls.append(("ask",))

    def said(self, text: str) -> None:
        self.calls.append(("said", text))

    def piece(self, text: str) -> None:
        self.calls.append(("piece", text))

    def end(self, *, interrupted: bool) -> None:
        self.calls.append(("end", interrupted))

    def message(self, text: str) -> None:
        self.calls.append(("message", text))

    def tool_started(self, tool: str, arguments: dict[str, Any]) -> None:
        self.calls.append(("started", tool, arguments))

    def tool_finished(self, tool: str, *, seconds: float | None, failure: str | None) -> None:
        self.calls.append(("finished", tool, seconds, failure))

    def progress(self, text: str) -> None:
        self.calls.append(("progress", text))

    def slot(self, name: str, value: Any) -> None:
        self.calls.append(("slot", name, value))

    def note(self, text: str) -> None:
        self.calls.append(("note", text))

    def failed(self, reason: str) -> None:
        self.calls.append(("failed", reason))


@pytest.fixture
def shown() -> Shown:
    return Shown()


@pytest.fixture
def terminal(shown: Shown) -> Terminal:
    return Terminal(shown)


async def test_streamed_pieces_are_shown_as_they_come_and_an_interruption_is_told(
    terminal: Terminal, shown: Shown
) -> None:
    channel = terminal.answering("")
    await channel.send_response_chunk_start("me")
    await channel.send_response_chunk(recipient_id="me", chunk="Hel")
    await channel.send_response_chunk_end("me", interrupted=True)
    assert shown.calls == [("piece", "Hel"), ("end", True)]


@pytest.mark.parametrize(
    ("kinds", "told"),
    [((), False), ((MCPOpenAgent,), True), ((ReActAgent, A2AAgent), False), ((A2AAgent,), True)],
)
async def test_a_model_that_runs_the_hosts_own_agents_is_told_once_at_the_start(
    terminal: Terminal,
    shown: Shown,
    kinds: tuple[type, ...],
    told: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agents: dict[str, Any] = {kind.__name__: object.__new__(kind) for kind in kinds}
    monkeypatch.setattr(AgentManager(), "agents", agents)
    monkeypatch.setattr(ReActAgent, "mcp_tools", NoTools(), raising=False)
    async with conversing(Agent(), terminal, "me"):
        words = [call[1] for call in shown.calls]
    assert [word.startswith("This model runs Rasa's own agents") for word in words] == [True] * told


class NoTools:
    """Servers of an agent that has none."""

    async def tools(self) -> tuple[()]:
        return ()

    def missing(self) -> tuple[()]:
        return ()


async def test_choices_are_listed_below_their_text(terminal: Terminal, shown: Shown) -> None:
    await terminal.answering("").send_text_with_buttons("me", "Which?", [{"title": "A"}])
    assert shown.calls == [("message", "Which?\n  - A")]


async def test_words_of_an_agent_in_the_background_stand_before_the_message_that_waits_for_them(
    terminal: Terminal, shown: Shown
) -> None:
    answering, by_itself = terminal.answering("When are you open?"), terminal.get_output_channel()
    await by_itself.send_text_message("me", "Your report is ready.")
    await answering.notify_message_processing_started()
    await answering.send_text_message("me", "At nine.")
    assert shown.calls == [
        ("message", "Your report is ready."),
        ("ask",),
        ("said", "When are you open?"),
        ("message", "At nine."),
    ]


async def test_changes_are_told_once_whichever_channel_ends_the_turn(
    terminal: Terminal, shown: Shown
) -> None:
    tracker = DialogueStateTracker("me", [])
    _add(tracker, host.FlowStarted("order"), host.AgentStarted("report", "order"))
    for channel in (terminal.answering(""), terminal.answering("")):
        channel.attach_tracker_state(tracker)
        await channel.notify_message_processing_completed()
    assert shown.calls == [("progress", "flow order started"), ("progress", "agent report started")]


@pytest.mark.parametrize("recorded", ["never", "before the flow", "behind the flow"])
def test_an_agent_whose_flow_is_cancelled_is_told_to_be_cancelled_once(
    terminal: Terminal, shown: Shown, recorded: str
) -> None:
    tracker = DialogueStateTracker("me", [])
    _add(tracker, host.AgentStarted("report", "order"), host.AgentInterrupted("report", "order"))
    terminal.progress.tell(tracker)
    before, behind = recorded == "before the flow", recorded == "behind the flow"
    cancelled = host.AgentCancelled("report", "order")
    _add(tracker, *[cancelled] * before, host.FlowCancelled("order", "ask"), *[cancelled] * behind)
    terminal.progress.tell(tracker)
    assert shown.calls[2:] == [
        ("progress", "agent report cancelled"),
        ("progress", "flow order cancelled"),
    ]


def _add(tracker: DialogueStateTracker, *events: host.Event) -> None:
    for event in events:
        tracker.update(event)


@pytest.mark.parametrize(
    ("result", "failure"),
    [
        (ToolResult(text="found"), None),
        (ToolResult(text="", is_error=True), ""),
        (
            ToolResult(
                text="No entry\n for open-sesame-1 of env-sesame-2\n(Bearer abcd1234efgh).",
                is_error=True,
            ),
            "No entry for <removed> of <removed> (Bearer <removed>).",
        ),
    ],
)
def test_a_tool_is_shown_when_it_starts_and_when_it_has_answered_with_why_it_failed(
    result: ToolResult, failure: str | None, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "env-sesame-2")
    watcher = ToolWatcher(shown)
    tool = Tool(name="find", description="", parameters={})
    arguments = {"q": 1, "password": "open-sesame-1"}
    call = Planned(position=0, id="c1", name="find", arguments=arguments, tool=tool)
    watcher.on(engine.CallStarted(call=call))
    watcher.on(engine.CallFinished(call=call, result=result, duration_ms=1500.0, batch=1))
    hidden = {"q": 1, "password": "(hidden)"}
    assert shown.calls == [("started", "find", hidden), ("finished", "find", 1.5, failure)]


async def test_a_slot_that_bears_a_secret_is_shown_without_it_whenever_it_changes(
    terminal: Terminal, shown: Shown
) -> None:
    tracker = DialogueStateTracker("me", [AnySlot("login_token", []), AnySlot("note", [])])
    for token in ("one", "two"):
        _add(tracker, host.SlotSet("login_token", token))
        terminal.progress.tell(tracker)
    _add(tracker, host.SlotSet("note", "Bearer abcd1234efgh"))
    terminal.progress.tell(tracker)
    assert shown.calls == [
        ("slot", "login_token", "(hidden)"),
        ("slot", "login_token", "(hidden)"),
        ("slot", "note", "Bearer <removed>"),
    ]
