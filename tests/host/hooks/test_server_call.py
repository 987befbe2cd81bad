"""`pre_call_hook` and `meta_map` of an MCP server: what goes beside the arguments of a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from rasa.shared.agents.outbound_call_hook import MCPOutboundCallContext, OutboundCallResult

from tests.host.hooks.play import Script, calling, results, then
from tests.host.project import Project
from tests.host.refused import logs
from tests.host.turn import agent_at_work, agent_input, slot, take_turn
from tests.mcp_pool.mcp_server import Served

pytestmark = pytest.mark.host

SECRET = "sesame-5150"
MAP = {"from_slots": [{"slot": "desk", "param": "desk_id"}], "static": {"channel": "web"}}
seen: list[MCPOutboundCallContext] = []


@dataclass(frozen=True, kw_only=True)
class Mapped(Project):
    """A project whose server has these keys in endpoints.yml."""

    keys: dict[str, Any] = field(default_factory=dict)

    def _write(self) -> None:
        super()._write()
        path = self.folder / "endpoints.yml"
        endpoints = yaml.safe_load(path.read_text(encoding="utf-8"))
        endpoints["mcp_servers"][0].update(self.keys)
        path.write_text(yaml.safe_dump(endpoints), encoding="utf-8")


async def fetch(context: MCPOutboundCallContext) -> OutboundCallResult:
    """A hook as documented."""
    seen.append(context)
    return OutboundCallResult(metadata={"token": SECRET})


def refuse(context: MCPOutboundCallContext) -> OutboundCallResult:
    """A hook that fails."""
    raise ConnectionError(f"vault refused {SECRET}")


@pytest.fixture
def sent(shop: Served) -> Iterator[list[dict[str, Any]]]:
    """What went beside the arguments of each call."""
    metas: list[dict[str, Any]] = []

    async def look(message: dict[str, Any], *_: Any) -> bool:
        if message.get("method") == "tools/call":
            metas.append(message["params"].get("_meta") or {})
        return False

    seen.clear()
    shop.fault = look
    yield metas
    shop.fault = None


async def test_pre_call_hook_and_meta_map_reach_the_server_and_nobody_else(
    project: Project, script: Script, sent: list[dict[str, Any]]
) -> None:
    model = script(calling("look_up", item="lamp"), then())
    async with agent_at_work(_mapped(project, "fetch")) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input(slots=[slot("desk", "four")]))
    (meta,) = sent
    assert (meta["token"], meta["desk_id"], meta["channel"]) == (SECRET, "four", "web")
    (context,) = seen
    assert (context.sender_id, context.server_name, context.tool_name) == (
        "anna",
        "store",
        "look_up",
    )
    bodies = [request.body for request in model.requests]
    assert SECRET not in repr([log, bodies, output.model_dump(), output.events])


async def test_pre_call_hook_that_raises_aborts_the_call_and_tells_no_secret(
    project: Project, script: Script, sent: list[dict[str, Any]], done: Counter[str]
) -> None:
    model = script(calling("look_up", item="lamp"), then("I cannot look."))
    async with agent_at_work(_mapped(project, "refuse")) as agent:
        with logs() as log:
            output = await take_turn(agent, agent_input())
    assert (sent, done["look_up"]) == ([], 0)
    assert "was not called" in results(model)[0]
    assert output.status.value == "input_required"
    (reported,) = [e for e in log if e["event"] == "rasa_react_ext.pre_call_hook.failed"]
    assert "ConnectionError" in reported["event_info"]
    assert SECRET not in repr([log, model.messages(), [e.as_dict() for e in output.events]])


def _mapped(project: Project, hook: str) -> Mapped:
    given = {name: getattr(project, name) for name in project.__dataclass_fields__}
    keys = {"meta_map": MAP, "pre_call_hook": f"{__name__}.{hook}"}
    return Mapped(**given, keys=keys)
