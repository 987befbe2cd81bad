"""A voice channel: spoken in the background, paced by fillers, broken off by the caller."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.channels.agent import Door
from tests.host.channels.output import Streaming, Voice
from tests.host.project import Project
from tests.host.turn import agent_at_work, agent_input, take_turn

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]

AGENTS = {"model": "agents"}
KNOCKS = {"text": "One moment.", "calls": [{"name": "knock"}]}
RULES = (
    {"when": {**AGENTS, "last": "user"}, "answer": KNOCKS},
    {"when": {**AGENTS, "last": "tool"}, "answer": "Somebody is in."},
)
SLOWLY = {"text": "A long story that nobody hears to its end.", "stream": {"chunk_chars": 5}}


class Recorder:
    """Stands for the host's recorder of a voice turn."""

    def __init__(self) -> None:
        self.fillers: list[str] = []

    def record_filler_sent(self, *, text: str | None = None, **more: Any) -> None:
        self.fillers.append(text or "")


async def test_d3_9_a_voice_channel_is_never_waited_for_and_told_which_texts_are_fillers(
    project: Project, script: Script, door: Door
) -> None:
    from rasa.tracing.voice.recorders.turn import bind_handle_turn_recorder

    script(*RULES)
    door.opened.set()
    channel, recorder = Voice(), Recorder()
    async with agent_at_work(_knocking(project)) as agent:
        with bind_handle_turn_recorder(recorder):  # type: ignore[arg-type]
            output = await take_turn(agent, agent_input(), output_channel=channel)
    assert door.heard == ["[knock]"], "the turn is over before a word is spoken"
    channel.may_speak.set()
    async with asyncio.timeout(10):
        await channel.wait_for_response_deliveries()
    assert door.heard == ["[knock]", "One moment.", "Somebody is in."]
    assert channel.pacing == [True, False]
    assert recorder.fillers == ["One moment."]
    uttered = [event for event in output.events if event.type_name == "bot"]
    assert [event.metadata["streamed_text"] for event in uttered] == [True, True]
    assert channel.interrupted == [False, False]


async def test_d3_9_the_pacing_of_a_closing_text_is_told_as_well(
    project: Project, script: Script, door: Door
) -> None:
    script(
        {
            "when": AGENTS,
            "answer": {
                "text": "Goodbye.",
                "calls": [{"name": "knock"}, {"name": "task_completed"}],
            },
        }
    )
    door.opened.set()
    channel = Voice()
    channel.may_speak.set()
    async with agent_at_work(_knocking(project)) as agent:
        await take_turn(agent, agent_input(), output_channel=channel)
        await channel.wait_for_response_deliveries()
    assert channel.pacing == [False]


@pytest.mark.parametrize("kind", [Streaming, Voice])
async def test_d3_10_barge_in_breaks_the_message_off_and_what_was_said_is_on_record(
    project: Project, script: Script, door: Door, kind: type[Streaming]
) -> None:
    from rasa.agents.core.cancellation import CancellationToken

    slowly = {**SLOWLY, "stream": {**SLOWLY["stream"], "interval_seconds": 0.2}}
    model = script({"when": AGENTS, "answer": slowly})
    channel, token = kind(), CancellationToken()
    if isinstance(channel, Voice):
        channel.may_speak.set()
    async with agent_at_work(_knocking(project)) as agent:
        turn = asyncio.create_task(
            take_turn(agent, agent_input(), output_channel=channel, cancellation_token=token)
        )
        async with asyncio.timeout(10):
            await channel.begun.wait()
            token.cancel()
            output = await turn
            await channel.wait_for_response_deliveries()
            await model.wait_until(lambda server: server.last.client_left)
    assert channel.interrupted == [True]
    assert output.status.value == "input_required"
    assert output.response_message is None
    (uttered,) = output.events
    assert SLOWLY["text"].startswith(uttered.text)
    assert "".join(channel.pieces).strip() == uttered.text
    assert uttered.metadata["agent_message_type"] == "filler_message"


def _knocking(project: Project) -> Project:
    return project.with_agent(module="tests.host.channels.agent.Knocking")
