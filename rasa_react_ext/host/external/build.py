"""Builds our agents for the external agents of a project."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import structlog
from rasa.agents.core.types import ProtocolType
from rasa.agents.protocol.a2a.a2a_agent import A2AAgent
from rasa.agents.utils import resolve_agent_config
from rasa.core.available_agents import ProtocolConfig
from rasa.shared.utils.common import class_from_module_path

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.external import talk
from rasa_react_ext.host.external.agent import ExternalAgent
from rasa_react_ext.host.external.mount import current_mount
from rasa_react_ext.host.external.spec import agent_spec, check_push_url
from rasa_react_ext.host.import_fault import class_refusal

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput
    from rasa.core.available_agents import AgentConfig
    from rasa.core.config.available_endpoints import AvailableEndpoints

    from rasa_react_ext.host.settings import Settings

__all__ = ["CHANNEL", "build_external_agents", "external_names"]

CHANNEL = "rasa_react_ext.channels.TaskUpdates"
HOST_NAME = "A2AAgent"
_log = structlog.get_logger()


def build_external_agents(
    agents: Mapping[str, AgentConfig],
    endpoints: AvailableEndpoints,
    settings: Settings,
    *,
    channel: bool = False,
) -> dict[tuple[str, ProtocolType], ExternalAgent]:
    """Our object for every external agent.

    Args:
        agents: Configurations of the sub agents.
        endpoints: The host's endpoints.
        settings: Ours.
        channel: Whether our callback channel is known to be configured, though it may not
            run in this process.

    Raises:
        ConfigurationError: A class or a setting of an agent does not fit.
    """
    built: dict[tuple[str, ProtocolType], ExternalAgent] = {}
    for name, config in agents.items():
        if config.agent.protocol is not ProtocolConfig.A2A:
            continue
        resolved = resolve_agent_config(config, endpoints) or config
        own = settings.for_agent(name)
        spec = agent_spec(resolved, own)
        url = resolved.configuration.push_notification_url if resolved.configuration else None
        if url:
            check_push_url(name, url, private_allowed=bool(own.allow_private_push_url))
            if not channel and current_mount() is None:
                _warn_without_channel(name)
        agent = cast("ExternalAgent", _agent_class(config).from_config(resolved))
        agent.bind(spec, own)
        built[name, ProtocolType.A2A] = agent
    return built


def _warn_without_channel(name: str) -> None:
    _log.warning(
        "rasa_react_ext.external.no_callback_channel",
        agent_name=name,
        event_info=(
            f"sub_agents: {name}: config.yml: configuration: push_notification_url is set, but "
            "no server with our callback channel runs here, so the agent is waited for "
            f"instead of working in the background. Add {CHANNEL} to credentials.yml."
        ),
    )


def external_names(agents: Mapping[str, AgentConfig]) -> set[str]:
    """Names of the external agents among a project's agents."""
    return {name for name, config in agents.items() if config.agent.protocol is ProtocolConfig.A2A}


def _agent_class(config: AgentConfig) -> type[ExternalAgent]:
    """The class to build: a user's class in front of ours, under the user's name.

    Raises:
        ConfigurationError: `configuration.module` is no external agent class.
    """
    module = config.configuration.module if config.configuration else None
    if not module:
        return _combined(HOST_NAME, (ExternalAgent,), ExternalAgent.__module__)
    where = {"file": f"sub_agents: {config.agent.name}: config.yml", "key": "configuration: module"}
    try:
        user_class = class_from_module_path(module)
    except Exception as error:
        raise class_refusal(error, module, **where) from error
    if not inspect.isclass(user_class) or not issubclass(user_class, A2AAgent):
        raise ConfigurationError(
            **where, problem=f"{module!r} is no external agent class.", fix="Extend A2AAgent."
        )
    bases = (user_class,) if issubclass(user_class, ExternalAgent) else (user_class, ExternalAgent)
    return _combined(user_class.__name__, bases, user_class.__module__)


def _combined(name: str, bases: tuple[type, ...], module: str) -> type[ExternalAgent]:
    async def process_input(self: Any, agent_input: AgentInput) -> AgentInput:
        return await bases[0].process_input(self, talk.arrived(agent_input))  # type: ignore[attr-defined]

    return cast(
        "type[ExternalAgent]",
        type(name, bases, {"__module__": module, "process_input": process_input}),
    )
