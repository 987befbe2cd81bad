"""Builds agents on either engine from the same configuration, and runs their turns.

The host is imported here, so only the measuring processes import this module.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import yaml
from rasa.agents.agent_factory import AgentFactory
from rasa.agents.core.types import ProtocolType
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentInput
from rasa.agents.utils import resolve_agent_config
from rasa.core.available_agents import (
    AgentConfig,
    AgentConfiguration,
    AgentConnections,
    AgentInfo,
    AgentMCPServerConfig,
    ProtocolConfig,
)
from rasa.core.channels import CollectingOutputChannel
from rasa.core.config.configuration import Configuration
from rasa.shared.core.events import Event, McpToolExecuted, UserUttered

from benchmarks.script import Task
from rasa_react_ext.host.build import build_agents
from rasa_react_ext.host.process import current
from rasa_react_ext.host.settings import read_settings

__all__ = ["Turn", "agent_config", "agent_input", "configure", "start", "take_turn"]

_MODULE = f"{__name__}.Patient"


class Patient(MCPOpenAgent):
    """A user's class that allows long chains; both engines run it."""

    MAX_ITERATIONS = 60


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What one turn took.

    Attributes:
        wall_ms: Time until the agent's answer.
        cpu_ms: Processor time of the whole process meanwhile.
    """

    wall_ms: float
    cpu_ms: float


def configure(folder: Path, *, model_url: str, servers: dict[str, str]) -> None:
    """Write endpoints.yml into a folder and make it the configuration of both engines."""
    model = {
        "provider": "openai",
        "model": "scripted",
        "api_base": f"{model_url}/v1",
        "api_key": "offline",
        "timeout": 60,
    }
    endpoints = {
        "model_groups": [{"id": "agents", "models": [model]}],
        "mcp_servers": [
            {"name": name, "url": url, "type": "http"} for name, url in servers.items()
        ],
    }
    path = folder / "endpoints.yml"
    path.write_text(yaml.safe_dump(endpoints), encoding="utf-8")
    Configuration.initialise_empty()
    Configuration.initialise_endpoints(path)
    section = {"store": str(folder / "store.db")}
    current().configure(read_settings({}, section, endpoints_file=str(path)))


def agent_config(name: str, servers: Sequence[str]) -> AgentConfig:
    """A general-purpose agent with these MCP servers."""
    return AgentConfig(
        agent=AgentInfo(name=name, protocol=ProtocolConfig.RASA, description="Does it all."),
        configuration=AgentConfiguration(llm={"model_group": "agents"}, module=_MODULE),
        connections=AgentConnections(
            mcp_servers=[AgentMCPServerConfig(name=server) for server in servers]
        ),
    )


async def start(engine: str, configs: Sequence[AgentConfig]) -> list[Any]:
    """Build agents and start them as an assistant that starts does.

    The host connects one agent after the other before the assistant is ready; ours
    connects in the background and is waited for by the first turn.
    """
    endpoints = Configuration.get_instance().endpoints
    if engine == "ours":
        built = build_agents({config.agent.name: config for config in configs}, endpoints)
        agents = [built[config.agent.name, ProtocolType.MCP_OPEN] for config in configs]
        for agent in agents:
            agent.warm()
        return agents
    agents = []
    for config in configs:
        resolve_agent_config(config, endpoints)  # writes into the config
        agent = AgentFactory.create_client(ProtocolType.MCP_OPEN, config)
        await agent.connect()
        agents.append(agent)
    return agents


def agent_input(agent: Any, task: Task, events: Sequence[Event] = ()) -> AgentInput:
    """What the host hands to an agent in a conversation that has these events already."""
    sender = uuid4().hex
    return AgentInput(
        id=agent._name,
        user_message=task.message,
        slots=[],
        conversation_history=f"USER: {task.message}",
        events=[*events, UserUttered(task.message)],
        metadata={"sender_id": sender},
        recipient_id=sender,
    )


async def take_turn(agent: Any, task: Task, given: AgentInput | None = None) -> Turn:
    """Run one turn of an agent to the model's last word, by default of a new conversation.

    Raises:
        RuntimeError: The turn did not end as the script wants it.
    """
    given = given or agent_input(agent, task)
    channel = CollectingOutputChannel()
    wall, cpu = time.perf_counter(), time.process_time()
    processed = await agent.process_input(given)
    output = await agent.run(processed, output_channel=channel)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    said = [sent.get("text") for sent in channel.messages]
    executed = [event for event in output.events or () if isinstance(event, McpToolExecuted)]
    worked = sum(not event.is_error for event in executed)
    if said != ["Done."] or worked != task.tools:
        raise RuntimeError(
            f"{task.message!r} ended with {output.status} ({output.error_message}): said {said}, "
            f"{worked} of {len(executed)} tools worked, {task.tools} were wanted"
        )
    return Turn(wall_ms=wall * 1000, cpu_ms=cpu * 1000)
