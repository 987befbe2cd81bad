"""From the host's description of an MCP server to the pool's."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rasa.shared.utils.io import resolve_environment_variables

from rasa_react_ext.engine.source import Combined, Filtered, Named
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.filter_check import FilterCheck
from rasa_react_ext.host.mcp.auth import server_auth
from rasa_react_ext.host.mcp.settings import McpServerSettings
from rasa_react_ext.mcp_pool import PooledTools, ServerSpec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import SecretStr
    from rasa.core.available_agents import AgentMCPServerConfig

    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.host.process import Process
    from rasa_react_ext.mcp_pool import Offer

__all__ = ["server_spec", "server_tools"]

DEFAULT_RETRIES = 3
_VARIABLE = re.compile(r"\$\{[^}]+\}")
_PLAIN = McpServerSettings()
_SECTION = "rasa_react_ext: mcp_servers"
_FILES = ("ca_file", "client_cert_file", "client_key_file", "cwd")


def server_spec(
    server: AgentMCPServerConfig,
    agent: str,
    max_retries: int | None,
    reach: McpServerSettings = _PLAIN,
    offers: frozenset[Offer] = frozenset(),
) -> ServerSpec:
    """How the pool reaches a server.

    Args:
        server: The server as the agent names it, with what endpoints.yml says of it.
        agent: Name of the agent, for errors.
        max_retries: The agent's `configuration.max_retries`.
        reach: What our section of endpoints.yml says of it.
        offers: What the agent lets it ask during a call.

    Raises:
        ConfigurationError: endpoints.yml has no such server, or what it says of it is wrong.
    """
    if not server.url:
        raise ConfigurationError(
            file=f"sub_agents: {agent}: config.yml",
            key=f"connections: mcp_servers: {server.name}",
            problem="endpoints.yml has no MCP server of this name.",
            fix=f"Add it there under `mcp_servers:` with name {server.name!r}, url and type.",
        )
    _check_files(server.name, reach)
    retries = DEFAULT_RETRIES if max_retries is None else max_retries
    if reach.transport == "stdio":
        return _child(server, reach, retries, offers)
    return _remote(server, reach.url or server.url, reach, retries, offers)


def _remote(
    server: AgentMCPServerConfig,
    url: str,
    reach: McpServerSettings,
    retries: int,
    offers: frozenset[Offer],
) -> ServerSpec:
    try:
        return ServerSpec(
            name=server.name,
            transport=reach.transport,
            url=str(resolve_environment_variables(url)),
            headers=_told(reach.headers),
            auth=server_auth(server.name, server.additional_params),
            credentials_key=_credentials_key(server.additional_params),
            max_retries=retries,
            verify=reach.verify,
            ca_file=reach.ca_file,
            client_cert_file=reach.client_cert_file,
            client_key_file=reach.client_key_file,
            connect_timeout_seconds=reach.connect_timeout_seconds,
            offers=offers,
        )
    except ValueError as error:
        place = f"{_SECTION}: {server.name}" if reach.url else f"mcp_servers: {server.name}"
        raise ConfigurationError(
            file="endpoints.yml",
            key=f"{place}: url",
            problem=f"{error}",
            fix="Write an address such as http://localhost:8080/mcp.",
        ) from error


def _child(
    server: AgentMCPServerConfig,
    reach: McpServerSettings,
    retries: int,
    offers: frozenset[Offer],
) -> ServerSpec:
    """A server that is a child process; it knows no requests that could be signed."""
    if server.additional_params:
        raise ConfigurationError(
            file="endpoints.yml",
            key=f"mcp_servers: {server.name}",
            problem="a stdio server takes no authentication.",
            fix=f"Give it its secrets under `{_SECTION}: {server.name}: env`.",
        )
    return ServerSpec(
        name=server.name,
        transport="stdio",
        command=reach.command or "",
        args=tuple(reach.args),
        env=_told(reach.env),
        cwd=reach.cwd,
        max_retries=retries,
        connect_timeout_seconds=reach.connect_timeout_seconds,
        offers=offers,
    )


def _check_files(server: str, reach: McpServerSettings) -> None:
    for key in _FILES:
        path = getattr(reach, key)
        if path is not None and not Path(path).exists():
            raise ConfigurationError(
                file="endpoints.yml",
                key=f"{_SECTION}: {server}: {key}",
                problem=f"there is no {path!r}.",
                fix="Give the path from the folder the assistant is started in.",
            )


def _told(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    """The values; under names such as `api_key` the host leaves the variable as it is written."""
    values = {name: secret.get_secret_value() for name, secret in secrets.items()}
    return {
        name: os.path.expandvars(value) if _VARIABLE.fullmatch(value) else value
        for name, value in values.items()
    }


def _credentials_key(params: Mapping[str, Any] | None) -> str:
    """Equal for equal credentials; made from the settings, which hold no secret."""
    if not params:
        return ""
    settings = json.dumps(params, sort_keys=True, default=str)
    return hashlib.sha256(settings.encode()).hexdigest()


def server_tools(
    process: Process,
    servers: Sequence[AgentMCPServerConfig],
    specs: Sequence[ServerSpec],
    agent: str,
) -> ToolSource:
    """The tools an agent has on its servers, filtered and with names for providers."""
    pooled = [PooledTools(process.pool, spec) for spec in specs]
    sources = [
        Named(_filtered(FilterCheck(tools, server, agent, process.first_time), server))
        if server.include_tools or server.exclude_tools
        else Named(tools)
        for server, tools in zip(servers, pooled, strict=True)
    ]
    return Combined(sources)


def _filtered(tools: ToolSource, server: AgentMCPServerConfig) -> ToolSource:
    return Filtered(tools, include=server.include_tools, exclude=server.exclude_tools)
