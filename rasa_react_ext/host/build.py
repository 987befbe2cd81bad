"""Builds our agents for a project's sub agents and registers them with the host.

Nothing of the host is replaced: the agents are put where the host looks for them,
under the identifiers it would use itself (design D1).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

import structlog
from rasa.agents.agent_manager import AgentManager
from rasa.agents.core.types import ProtocolType
from rasa.agents.protocol.mcp.mcp_base_agent import MCPBaseAgent
from rasa.agents.utils import resolve_agent_config
from rasa.core.available_agents import AgentConfig, ProtocolConfig
from rasa.shared.agents.utils import make_agent_identifier
from rasa.shared.utils.common import class_from_module_path

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host import arrival
from rasa_react_ext.host.agent import ReActAgent
from rasa_react_ext.host.check import check_agent
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.external.agent import ExternalAgent
from rasa_react_ext.host.import_fault import class_refusal
from rasa_react_ext.host.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rasa.agents.schemas import AgentInput
    from rasa.core.config.available_endpoints import AvailableEndpoints

__all__ = ["agent_class", "build_agents", "register"]

PROTOCOLS = (ProtocolType.MCP_OPEN, ProtocolType.MCP_TASK)
_HOST_NAMES = {ProtocolType.MCP_OPEN: "MCPOpenAgent", ProtocolType.MCP_TASK: "MCPTaskAgent"}
_DEFAULTS = Settings()
_log = structlog.get_logger()


def build_agents(
    agents: Mapping[str, AgentConfig],
    endpoints: AvailableEndpoints,
    settings: Settings = _DEFAULTS,
) -> dict[tuple[str, ProtocolType], ReActAgent]:
    """Our object for every MCP sub agent, under both kinds of protocol.

    Raises:
        ConfigurationError: A class, a server or a prompt of an agent does not fit.
    """
    built: dict[tuple[str, ProtocolType], ReActAgent] = {}
    for name, config in agents.items():
        if config.agent.protocol is not ProtocolConfig.RASA:
            continue
        resolved = resolve_agent_config(config, endpoints) or config
        check_agent(resolved)
        for protocol in PROTOCOLS:
            agent = agent_class(config, protocol).from_config(resolved)
            agent.kind_protocol = protocol
            agent.configure(settings.for_agent(name), settings.deployment.mcp_servers)
            built[name, protocol] = agent
    return built


def agent_class(config: AgentConfig, protocol: ProtocolType) -> type[ReActAgent]:
    """The class to build: a user's class in front of ours, under the user's name.

    An agent without a class of its own bears the name of the host's class, which is
    what analytics and e2e tests know it by.

    Raises:
        ConfigurationError: `configuration.module` is no ReAct agent class.
    """
    module = config.configuration.module if config.configuration else None
    if not module:
        return _combined(_HOST_NAMES[protocol], (ReActAgent,), ReActAgent.__module__)
    where = {"file": f"sub_agents: {config.agent.name}: config.yml", "key": "configuration: module"}
    try:
        user_class = class_from_module_path(module)
    except Exception as error:
        raise class_refusal(error, module, **where) from error
    if not inspect.isclass(user_class) or not issubclass(user_class, MCPBaseAgent):
        raise ConfigurationError(
            **where,
            problem=f"{module!r} is no ReAct agent class.",
            fix="Extend MCPOpenAgent or MCPTaskAgent.",
        )
    bases = (user_class,) if issubclass(user_class, ReActAgent) else (user_class, ReActAgent)
    return _combined(user_class.__name__, bases, user_class.__module__)


def _combined(name: str, bases: tuple[type, ...], module: str) -> type[ReActAgent]:
    async def process_input(self: Any, input: AgentInput) -> AgentInput:
        exit_names = slot_names(list((input.metadata or {}).get("exit_if") or ()))
        return await bases[0].process_input(self, arrival.arrived(input, exit_names))

    return cast(
        "type[ReActAgent]",
        type(name, bases, {"__module__": module, "process_input": process_input}),
    )


def register(
    agents: Mapping[tuple[str, ProtocolType], ReActAgent | ExternalAgent],
) -> list[Any]:
    """Put the agents where the host looks for them; returns those they replace.

    The host's manager keeps one registry per process and never replaces an entry
    itself, so a reload puts the new objects here.
    """
    registry = AgentManager().agents
    identifiers = {make_agent_identifier(*key): agent for key, agent in agents.items()}
    replaced = [registry[key] for key in identifiers if key in registry]
    gone = [key for key, agent in registry.items() if _ours(agent) and key not in identifiers]
    replaced.extend(registry.pop(key) for key in gone)
    registry.update(identifiers)
    return replaced


def _ours(agent: object) -> bool:
    return isinstance(agent, ReActAgent | ExternalAgent)
