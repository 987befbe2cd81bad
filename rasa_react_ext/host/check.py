"""What can be wrong with a project, found before the first conversation.

Each check raises a `ConfigurationError` that names file, key and fix, or logs a
warning where the assistant can start all the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from rasa.core.available_agents import AgentConfig, AgentConfiguration, ProtocolConfig
from rasa.shared.agents.outbound_call_hook.hooks import validate_pre_call_hook_import
from rasa.shared.core.flows.steps import CallFlowStep

from rasa_react_ext.engine import prompt
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.deadline import warn_if_clamped
from rasa_react_ext.host.exit_slot import fillable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rasa.shared.core.domain import Domain
    from rasa.shared.core.flows import FlowsList

    from rasa_react_ext.host.mcp.settings import McpServerSettings

__all__ = ["check_agent", "check_direct_calls", "check_flows"]

_log = structlog.get_logger()


def check_agent(config: AgentConfig) -> None:
    """Check one sub agent's config.yml beyond what the host checks.

    Raises:
        ConfigurationError: A number, a tool filter or the prompt template is wrong.
        ValidationError: A `pre_call_hook` cannot be imported (documented host behaviour,
            code `validation.pre_call_hook.unresolved`).
    """
    name = config.agent.name
    file = f"sub_agents: {name}: config.yml"
    configuration = config.configuration or AgentConfiguration()
    _check_numbers(file, configuration)
    warn_if_clamped(name, "timeout", configuration.timeout)
    warn_if_clamped(name, "tool_timeout", configuration.tool_timeout)
    if configuration.prompt_template:
        _check_template(name, file, Path(configuration.prompt_template))
    servers = (config.connections.mcp_servers or []) if config.connections else []
    for server in servers:
        if server.pre_call_hook:
            validate_pre_call_hook_import(server.pre_call_hook, f"MCP server {server.name!r}")
        if server.include_tools and server.exclude_tools:
            raise ConfigurationError(
                file=file,
                key=f"connections: mcp_servers: {server.name}",
                problem="include_tools and exclude_tools are both set.",
                fix="Keep one of the two.",
            )
    if not servers:
        _log.warning(
            "rasa_react_ext.agent.no_mcp_server",
            agent_name=name,
            event_info=(
                f"{file}: connections: mcp_servers is empty: agent {name!r} has only the Python "
                "tools of its class. Name a server here if it needs one."
            ),
        )


def _check_numbers(file: str, configuration: AgentConfiguration) -> None:
    timeout, retries = configuration.timeout, configuration.max_retries
    if timeout is not None and timeout <= 0:
        raise ConfigurationError(
            file=file,
            key="configuration: timeout",
            problem=f"{timeout} is no time in which a turn could run.",
            fix="Write seconds above 0, or remove the key.",
        )
    if retries is not None and retries < 0:
        raise ConfigurationError(
            file=file,
            key="configuration: max_retries",
            problem=f"{retries} is below 0.",
            fix="Write 0 for a single try, or remove the key for 3 further tries.",
        )


def _check_template(name: str, file: str, path: Path) -> None:
    if not path.is_file():
        raise ConfigurationError(
            file=file,
            key="configuration: prompt_template",
            problem=f"there is no file {str(path)!r}.",
            fix="Give the path from the folder the assistant is started in.",
        )
    source = path.read_text(encoding="utf-8")
    unknown = prompt.check(source, file=str(path))
    if unknown:
        _log.warning(
            "rasa_react_ext.prompt.unknown_variable",
            agent_name=name,
            variables=sorted(unknown),
            event_info=(
                f"{path}: nobody provides {', '.join(sorted(unknown))}; it renders as nothing. "
                f"Known variables: {', '.join(sorted(prompt.KNOWN_VARIABLES))}."
            ),
        )
    older = prompt.uses(source) & prompt.OLDER_VARIABLES
    if older:
        _log.warning(
            "rasa_react_ext.prompt.older_variable",
            agent_name=name,
            variables=sorted(older),
            event_info=(
                f"{path}: {', '.join(sorted(older))} still works but is no longer needed: the "
                "conversation follows the prompt as chat messages."
            ),
        )


def check_flows(flows: FlowsList, domain: Domain, agents: Mapping[str, AgentConfig]) -> None:
    """Check the `call` steps that hand over to sub agents.

    Raises:
        ConfigurationError: An exit condition names a slot the domain lacks, or an
            external agent is called with `exit_if`.
    """
    slots = {slot.name: slot for slot in domain.slots}
    for flow in flows.underlying_flows:
        for step in flow.steps:
            if not isinstance(step, CallFlowStep) or not step.exit_if or step.call not in agents:
                continue
            where = {"file": f"flow {flow.id!r}", "key": f"steps: {step.id}: exit_if"}
            if agents[step.call].agent.protocol is ProtocolConfig.A2A:
                raise ConfigurationError(
                    **where,
                    problem=f"{step.call!r} is an external agent, which has no exit conditions.",
                    fix="Remove exit_if, or set `protocol: RASA` for the agent.",
                )
            for slot in slot_names(step.exit_if):
                if slot not in slots:
                    raise ConfigurationError(
                        **where,
                        problem=f"the domain has no slot {slot!r}.",
                        fix="Add it under `slots:` in the domain, or correct the name.",
                    )
                if not fillable(slots[slot].type_name, slots[slot].mappings):
                    _warn_unfillable(step.call, flow.id, slot)


def check_direct_calls(flows: FlowsList, reach: Mapping[str, McpServerSettings]) -> None:
    """Check the `call` steps that use a tool of an MCP server without an agent.

    The host makes these calls itself and knows only the address in its own list.

    Raises:
        ConfigurationError: The server is reached in a way that the host does not know.
    """
    for flow in flows.underlying_flows:
        for step in flow.steps:
            server = step.mcp_server if isinstance(step, CallFlowStep) else None
            way = reach[server].transport if server and server in reach else "http"
            if way != "http":
                raise ConfigurationError(
                    file=f"flow {flow.id!r}",
                    key=f"steps: {step.id}: mcp_server",
                    problem=f"the host calls this tool itself, and not over {way}.",
                    fix=f"Let an agent call it, or reach {server!r} over http.",
                )


def _warn_unfillable(agent: str, flow: str, slot: str) -> None:
    _log.warning(
        "rasa_react_ext.exit_if.slot_not_fillable",
        agent_name=agent,
        flow_id=flow,
        slot=slot,
        event_info=(
            f"flow {flow!r}: exit_if waits for slot {slot!r}, which agent {agent!r} gets no tool "
            "for, because its mappings do not include from_llm or its type is the project's own. "
            "Only the agent's process_tool_output or an executor's events can set it."
        ),
    )
