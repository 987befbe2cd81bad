"""The assistant is called over A2A and, in the same flow, calls a ReAct and a remote agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.a2a_client.remote import Remote, remote
from tests.a2a_server.serving import client, rpc, send, state_of
from tests.host.a2a.bank import BANK_RULES, bank, served
from tests.host.a2a.talk import Caller
from tests.host.project import Project, agent_config

FLOWS = """
flows:
  trade:
    description: The customer wants to trade.
    steps:
      - call: clerk
      - call: broker
      - action: utter_bye
"""
START = {
    "when": {"model": "commands", "user": '/last message: """start trade/'},
    "answer": "start flow trade",
}
CLERK = {
    "when": {"model": "agents"},
    "answer": {"text": "The clerk agrees.", "calls": [{"name": "task_completed"}]},
}


@pytest.fixture
def broker() -> Iterator[Remote]:
    """The remote agent."""
    with remote() as agent:
        yield agent


@pytest.fixture
def exchange(project: Project, model: ModelServer, broker: Remote) -> Project:
    """A bank whose only flow calls both agents."""
    model.use([START, CLERK, *BANK_RULES])
    agent: dict[str, Any] = {
        "agent": {"name": "broker", "protocol": "A2A", "description": "Trades."},
        "configuration": {
            "agent_card": broker.card_url,
            "timeout": 20,
            "polling_initial_delay": 0.05,
        },
    }
    agents = {"clerk": agent_config(), "broker": agent}
    return bank(project).having(flows=FLOWS, agents=agents)


async def test_d8_both_agents_of_a_flow_speak_through_one_task(
    exchange: Project, broker: Remote
) -> None:
    async with served(exchange) as (url, _):
        caller = Caller(url)
        assert await caller.say("start trade ask") == "input_required"
        assert "The clerk agrees." in caller.text
        assert "Which currency?" in caller.text
        assert caller.data["active_flow"] == "trade"
        assert await caller.say("echo Euros then", taskId=caller.task["id"]) == "completed"
        assert "Euros then" in caller.text
        assert "Come again." in caller.text
        assert broker.done["ask"] == 1
        async with client(url) as made:
            events = await send(made, "start trade stream", context_id="d")
        final = events[-1].status_update.status
        assert "Hello, world!" in final.message.parts[0].text
        assert final.state == 3


async def test_d8_b95_a_cancel_passes_through_both_hops(exchange: Project, broker: Remote) -> None:
    async with served(exchange) as (url, app):
        caller = Caller(url)
        saying = asyncio.create_task(caller.say("start trade wait"))
        async with asyncio.timeout(30):
            while not broker.done["wait"]:
                await asyncio.sleep(0.02)
        _, listed = await rpc(url, "ListTasks", {})
        began = time.monotonic()
        _, canceled = await rpc(url, "CancelTask", {"id": listed["result"]["tasks"][0]["id"]})

        assert state_of(canceled["result"]) == "canceled"
        assert time.monotonic() - began < 5
        assert await asyncio.wait_for(saying, 10) == "canceled"
        async with asyncio.timeout(20):
            while not broker.done["cancelled"]:
                await asyncio.sleep(0.05)
        tracker = await app.ctx.agent.tracker_store.retrieve("a2a:anonymous:c")
        frames = [getattr(frame, "flow_id", "") for frame in tracker.stack.frames]
        assert "trade" not in frames
