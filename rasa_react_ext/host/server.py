"""From the host's description of an MCP server to the pool's."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from rasa.shared.agents.auth.agent_auth_manager import AgentAuthManager
from rasa.shared.utils.io import resolve_environment_variables

from rasa_react_ext.engine.source import Combined, Filtered, Named
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.filter_check import FilterCheck
from rasa_react_ext.mcp_pool import PooledTools, ServerSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rasa.core.available_agents import AgentMCPServerConfig

    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.host.process import Process

__all__ = ["server_spec", "server_tools"]

DEFAULT_RETRIES = 3


def server_spec(server: AgentMCPServerConfig, agent: str, max_retries: int | None) -> ServerSpec:
    """How the pool reaches a server.

    Args:
        server: The server as the agent names it, with what endpoints.yml says of it.
        agent: Name of the agent, for errors.
        max_retries: The agent's `configuration.max_retries`.

    Raises:
        ConfigurationError: endpoints.yml has no such server, or its address is wrong.
    """
    if not server.url:
        raise ConfigurationError(
            file=f"sub_agents: {agent}: config.yml",
            key=f"connections: mcp_servers: {server.name}",
            problem="endpoints.yml has no MCP server of this name.",
            fix=f"Add it there under `mcp_servers:` with name {server.name!r}, url and type.",
        )
    auth = AgentAuthManager.load_auth(server.additional_params)
    try:
        return ServerSpec(
            name=server.name,
            url=str(resolve_environment_variables(server.url)),
            auth=auth.get_auth() if auth is not None else None,
            credentials_key=_credentials_key(server),
            max_retries=DEFAULT_RETRIES if max_retries is None else max_retries,
        )
    except ValueError as error:
        raise ConfigurationError(
            file="endpoints.yml",
            key=f"mcp_servers: {server.name}: url",
            problem=f"{error}",
            fix="Write an address such as http://localhost:8080/mcp.",
        ) from error


def _credentials_key(server: AgentMCPServerConfig) -> str:
    """Equal for equal credentials; made from the settings, which hold no secret."""
    if not server.additional_params:
        return ""
    settings = json.dumps(server.additional_params, sort_keys=True, default=str)
    return hashlib.sha256(settings.encode()).hexdigest()


def server_tools(
    process: Process,
    servers: Sequence[AgentMCPServerConfig],
    specs: Sequence[ServerSpec],
    agent: str,
) -> tuple[ToolSource, list[PooledTools]]:
    """The tools an agent has on its servers, filtered and with names for providers."""
    pooled = [PooledTools(process.pool, spec) for spec in specs]
    sources = [
        Named(_filtered(FilterCheck(tools, server, agent, process.first_time), server))
        if server.include_tools or server.exclude_tools
        else Named(tools)
        for server, tools in zip(servers, pooled, strict=True)
    ]
    return Combined(sources), pooled


def _filtered(tools: ToolSource, server: AgentMCPServerConfig) -> ToolSource:
    return Filtered(tools, include=server.include_tools, exclude=server.exclude_tools)
