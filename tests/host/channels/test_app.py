"""On the host's real application, what a channel sends is what the conversation has on record."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.channels.agent import Door
from tests.host.channels.app import SECONDS, receiving, rest, serving, socket_user, uttered
from tests.host.project import Project, loaded

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
Port = Callable[[], int]

AGENTS = {"model": "agents"}
LET_ME, QUESTION, CLOSING = "Let me knock first.", "Somebody is in. Shall we?", "In we go, then."
RULES = (
    {
        "when": {**AGENTS, "user": "start shop", "last": "user"},
        "answer": {"text": LET_ME, "calls": [{"name": "knock"}]},
    },
    {"when": {**AGENTS, "tool": "knock"}, "answer": QUESTION},
    {
        "when": {**AGENTS, "user": "yes"},
        "answer": {"text": CLOSING, "calls": [{"name": "task_completed"}]},
    },
)
FLOW = ["Come again.", "Is there anything else I can help you with?"]
ON = [LET_ME, "[knock]", QUESTION, CLOSING, *FLOW]
OFF = ON[1:]

fillers = pytest.mark.parametrize(("on", "expected"), [(True, ON), (False, OFF)], ids=["on", "off"])


@contextlib.asynccontextmanager
async def knocking(project: Project, script: Script, *, on: bool) -> AsyncIterator[Any]:
    """The assistant whose agent knocks."""
    script(*RULES)
    module = "tests.host.channels.agent.Knocking"
    with_class = project.with_agent(module=module, enable_filler_messages=on)
    async with loaded(with_class) as agent:
        yield agent


@fillers
async def test_d3_9_rest_answers_with_what_is_on_record(
    project: Project, script: Script, door: Door, free_port: Port, on: bool, expected: list[str]
) -> None:
    from rasa.core.channels.rest import RestInput

    door.opened.set()
    async with knocking(project, script, on=on) as agent:
        async with serving(agent, free_port(), RestInput()) as url:
            texts = [*await rest(url, "start shop"), *await rest(url, "yes please")]
        recorded = uttered(await agent.tracker_store.retrieve("anna"))
    assert recorded == expected
    assert texts == _texts(recorded)


@fillers
async def test_d3_9_rest_streams_what_is_on_record(
    project: Project, script: Script, door: Door, free_port: Port, on: bool, expected: list[str]
) -> None:
    from rasa.core.channels.rest import RestInput

    door.opened.set()
    async with knocking(project, script, on=on) as agent:
        async with serving(agent, free_port(), RestInput()) as url:
            first = await rest(url, "start shop", stream=True)
            second = await rest(url, "yes please", stream=True)
        recorded = uttered(await agent.tracker_store.retrieve("anna"))
    assert recorded == expected
    # The channel marks no boundaries between messages, so the letters are compared.
    assert "".join(first + second) == "".join(_texts(recorded))
    assert (len(first) > 2) is on, "in pieces; without fillers a text waits for the answer's end"


@pytest.mark.parametrize("stream", [False, True])
@fillers
async def test_d3_9_the_callback_channel_sends_before_the_tools_run_what_is_on_record(
    project: Project,
    script: Script,
    door: Door,
    free_port: Port,
    stream: bool,
    on: bool,
    expected: list[str],
) -> None:
    from rasa.core.channels.callback import CallbackInput
    from rasa.utils.endpoints import EndpointConfig

    async with (
        knocking(project, script, on=on) as agent,
        receiving(free_port(), _opening(door, on)) as receiver,
    ):
        channel = CallbackInput(EndpointConfig(receiver.url))
        async with serving(agent, free_port(), channel) as url:
            for text in ("start shop", "yes please"):
                await _post(url, text, stream=stream)
        await _until(lambda: len(door.heard) == len(expected))
        recorded = uttered(await agent.tracker_store.retrieve("anna"))
    assert recorded == expected
    assert receiver.texts == _texts(recorded)
    assert door.heard == expected


@fillers
async def test_d3_9_a_socket_io_client_gets_before_the_tools_run_what_is_on_record(
    project: Project, script: Script, door: Door, free_port: Port, on: bool, expected: list[str]
) -> None:
    from rasa.core.channels.socketio import SocketIOInput

    async with (
        knocking(project, script, on=on) as agent,
        serving(agent, free_port(), SocketIOInput()) as url,
        socket_user(url, _opening(door, on)) as (client, texts),
    ):
        sender = client.get_sid()
        for text, last in (("start shop", QUESTION), ("yes please", FLOW[-1])):
            await client.emit("user_uttered", {"message": text})
            recorded = await _recorded(agent, sender, last)
        await _until(lambda: len(door.heard) == len(expected))
    assert recorded == expected
    assert texts == _texts(recorded)
    assert door.heard == expected


async def test_d3_10_a_user_who_breaks_in_over_rest_has_on_record_what_was_shown(
    project: Project, script: Script, door: Door, free_port: Port
) -> None:
    from rasa.core.channels.rest import RestInput

    story = "Once upon a time there was a door that nobody could open, however they knocked."
    slowly = {"text": story, "stream": {"chunk_chars": 6, "interval_seconds": 0.2}}
    async with knocking(project, script, on=True) as agent:
        script({"when": {**AGENTS, "user": "start shop"}, "answer": slowly}, *RULES)
        async with serving(agent, free_port(), RestInput()) as url:
            shown = await rest(url, "start shop", stream=True, break_in_after=3)
            recorded = uttered(await agent.tracker_store.retrieve("anna"))
            again = await rest(url, "yes please")
    assert story.startswith("".join(shown))
    assert len("".join(shown)) < len(story)
    assert recorded == ["".join(shown).strip()]
    assert again == [CLOSING, *FLOW], "the flow lives on"


def _opening(door: Door, on: bool) -> Callable[[str], None]:
    """Notes what is heard; the door opens when the filler has come, or at once without."""
    if not on:
        door.opened.set()

    def hear(text: str) -> None:
        door.heard.append(text)
        if text == LET_ME:
            door.opened.set()

    return hear


async def _recorded(agent: Any, sender: str, last: str) -> list[str]:
    """What is on record once the turn that ends with this text is saved."""
    recorded: list[str] = []
    async with asyncio.timeout(SECONDS):
        while last not in recorded:
            await asyncio.sleep(0.02)
            tracker = await agent.tracker_store.retrieve(sender)
            recorded = uttered(tracker) if tracker is not None else []
    return recorded


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not holds():
            await asyncio.sleep(0.01)


def _texts(recorded: list[str]) -> list[str]:
    return [text for text in recorded if not text.startswith("[")]


async def _post(url: str, text: str, *, stream: bool) -> None:
    import aiohttp

    query = "?stream=true" if stream else ""
    body = {"sender": "anna", "message": text}
    async with (
        asyncio.timeout(SECONDS),
        aiohttp.ClientSession() as session,
        session.post(f"{url}/webhooks/callback/webhook{query}", json=body) as response,
    ):
        assert response.status == 200
