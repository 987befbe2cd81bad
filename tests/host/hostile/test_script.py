"""Every turn of a hostile model ends in time, in a defined way, with what was reached kept."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any

import pytest
from rasa.core.channels import CollectingOutputChannel

from rasa_react_ext.testing import PROFILES, ModelServer, ScriptedModel
from tests.host.channels.output import Streaming
from tests.host.hooks.play import said, slots
from tests.host.hostile.script import SCRIPTS, Hostile
from tests.host.profile.talk import BOTH, Talk, asking
from tests.host.project import Project
from tests.host.turn import agent_at_work

pytestmark = pytest.mark.host

LATE_SECONDS = 2.0
"""How much later than its budget a turn may end on a busy machine."""

MEMORY_BYTES = 40_000
"""The memory's limit of 32 KiB, and what is around it."""

SET_SIZE: dict[str, Any] = {
    "when": {"step": 1, "user": "something large"},
    "times": 1,
    "answer": {"calls": [{"name": "set_slot_size", "arguments": {"slot_value": "L"}}]},
}
every_script = pytest.mark.parametrize("hostile", SCRIPTS.values(), ids=SCRIPTS)


async def _play(
    project: Project,
    hostile: Hostile,
    rules: list[Any],
    *,
    exit_if: list[str],
    streamed: bool,
) -> tuple[Any, int]:
    """The turn with the hostile model, and its model calls; the turn after it is checked."""
    with ScriptedModel(rules, profile="gemini_signed").serve() as server:
        ours = asking(project, server, "gemini-2.5-flash", timeout=hostile.budget_seconds)
        async with agent_at_work(ours, task=bool(exit_if)) as agent:
            talk = Talk(agent, exit_if)
            channel = Streaming() if streamed else CollectingOutputChannel()
            begun = time.monotonic()
            output = await talk.say("something large", channel=channel)
            seconds, calls = time.monotonic() - begun, server.request_count
            server.use([{"answer": "Here I am."}])
            after = await talk.say("and now?")
        _check_requests(server)
    status = output.status.value
    print(f"MEASURED | {status} | {calls} | {seconds:.2f} | {output.error_message or ''}")
    assert seconds < hostile.budget_seconds + LATE_SECONDS
    memory = (output.metadata or {}).get("rasa_react_ext", {})
    assert len(json.dumps(memory)) < MEMORY_BYTES
    assert said(after)[-1] == ("Here I am.", "input_required")
    return output, calls


def _check_requests(server: ModelServer) -> None:
    """Every provider would have taken every request; the strictest one was asked itself."""
    assert [exchange.refused_by for exchange in server.refused] == []
    profiles = [name for name in PROFILES if name != "gemini_signed"]
    for request in server.requests:
        refusals = [PROFILES[name].refuse(request.body or {}) for name in profiles]
        assert [refusal for refusal in refusals if refusal] == []


@every_script
async def test_an_open_turn_ends_in_time_and_the_next_one_goes_on(
    project: Project, hostile: Hostile, done: Counter[str]
) -> None:
    output, calls = await _play(
        project, hostile, [*hostile.rules], exit_if=[], streamed=hostile.streamed
    )
    assert output.status.value == hostile.outcome
    assert calls <= hostile.calls
    assert [tool for tool in hostile.never if done[tool]] == []
    if hostile.outcome == "input_required":
        assert output.response_message, "the user is told where things stand"


@every_script
async def test_a_task_that_streams_keeps_its_slots_and_is_not_completed(
    project: Project, hostile: Hostile, done: Counter[str]
) -> None:
    output, calls = await _play(
        project, hostile, [SET_SIZE, *hostile.rules], exit_if=BOTH, streamed=True
    )
    assert output.status.value == hostile.outcome
    assert calls <= hostile.calls + 1
    assert slots(output) == [("size", "L")]
    assert [tool for tool in hostile.never if done[tool]] == []
