"""Binds a loaded model's sub agents to this engine (design D1)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from rasa.core.config.configuration import Configuration
from rasa.core.policies.flow_policy import FlowPolicy
from rasa.engine.storage.resource import Resource
from rasa.shared.core.domain import Domain
from rasa.shared.core.flows.yaml_flows_io import YAMLFlowsReader
from rasa.shared.utils.yaml import read_config_file

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host import process
from rasa_react_ext.host.build import build_agents, register
from rasa_react_ext.host.check import check_direct_calls, check_flows
from rasa_react_ext.host.external.build import build_external_agents, external_names
from rasa_react_ext.host.external.watch import register_watch
from rasa_react_ext.host.lock_check import warn_of_lock_store
from rasa_react_ext.host.mcp import watch
from rasa_react_ext.host.observe.environment import configure_from_environment
from rasa_react_ext.host.settings import (
    POLICY_PLACE,
    SECTION,
    Settings,
    check_kinds,
    read_settings,
)
from rasa_react_ext.host.slot_check import slot_checks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rasa.engine.graph import ExecutionContext
    from rasa.engine.storage.storage import ModelStorage
    from rasa.shared.core.flows import FlowsList

__all__ = ["bind", "check_layout", "check_settings", "server_names", "settings_from"]

_log = structlog.get_logger()


def check_layout(context: ExecutionContext, policy: type) -> None:
    """Refuse a list of policies with which agents would not run, or run twice.

    Args:
        context: Knows the graph that is loaded.
        policy: Ours.

    Raises:
        ConfigurationError: FlowPolicy is missing, two policies advance flows, or ours is there
            twice.
    """
    ours = [node.fn for node in context.graph_schema.nodes.values() if node.uses is policy]
    if len(ours) > len(set(ours)):
        raise ConfigurationError(
            file="config.yml",
            key="policies",
            problem="ReActPolicy is there twice, and the settings of one would be lost.",
            fix="Put its keys together below one entry, and remove the other.",
        )
    flow_policies = {
        node.uses
        for node in context.graph_schema.nodes.values()
        if isinstance(node.uses, type) and issubclass(node.uses, FlowPolicy)
    }
    if not flow_policies:
        raise ConfigurationError(
            file="config.yml",
            key="policies",
            problem="ReActPolicy stands alone, but flows are advanced by FlowPolicy.",
            fix="Add `- name: FlowPolicy` beside it.",
        )
    if len(flow_policies) > 1:
        names = ", ".join(sorted(policy.__name__ for policy in flow_policies))
        raise ConfigurationError(
            file="config.yml",
            key="policies",
            problem=f"{names} would each advance the flows and run every agent twice.",
            fix="Keep only FlowPolicy.",
        )


def settings_from(policy: Mapping[str, Any]) -> Settings:
    """Settings from the policy entry and the endpoints file in use.

    Raises:
        ConfigurationError: A key or a value in one of the two is wrong.
    """
    file = getattr(Configuration.get_instance().endpoints, "config_file_path", None)
    section = None
    if file and Path(file).is_file():
        section = read_config_file(file).get(SECTION)
    return read_settings(policy, section, endpoints_file=str(file or "endpoints.yml"))


def check_settings(policy: Mapping[str, Any]) -> None:
    """Check the settings as far as training knows the project.

    Raises:
        ConfigurationError: A key or a value is wrong, or an agent is not there.
    """
    settings = settings_from(policy)
    settings.check_servers(server_names())
    agents = Configuration.get_instance().available_agents.agents
    known = list(agents)
    if known:
        settings.check_agents(known)
        check_kinds(settings, external_names(agents))


def bind(policy: Mapping[str, Any], storage: ModelStorage) -> None:
    """Build our agents for the configured sub agents and register them.

    Everything is checked and built before anything is replaced, so a failed reload
    leaves the old agents at work.

    Raises:
        ConfigurationError: Something in the project does not fit.
    """
    configuration = Configuration.get_instance()
    agents = configuration.available_agents.agents
    settings = settings_from(policy)
    settings.check_agents(list(agents))
    settings.check_servers(server_names())
    check_kinds(settings, external_names(agents))
    domain, flows = _stored(storage)
    if domain is not None and flows is not None:
        check_flows(flows, domain, agents)
        check_direct_calls(flows, settings.deployment.mcp_servers)
    built = build_agents(agents, configuration.endpoints, settings)
    external = build_external_agents(agents, configuration.endpoints, settings)
    checks = slot_checks(domain) if domain is not None else {}
    for agent in built.values():
        agent.slot_checks = checks
    if configuration.endpoints.privacy and any(a.settings.memory != "off" for a in built.values()):
        _warn_privacy()
    configure_from_environment()
    shared = process.current()
    shared.configure(settings)
    shared.retire(register({**built, **external}))
    if external:
        register_watch()
    if any(agent.settings.elicitation == "ask" for agent in built.values()):
        watch.register_watch()
    warn_of_lock_store(configuration.endpoints)
    if _loop_runs():
        for agent in (*built.values(), *external.values()):
            agent.warm()
    _log.info(
        "rasa_react_ext.policy.bound",
        agents=sorted({name for name, _ in (*built, *external)}),
        event_info=f"Sub agents run on rasa_react_ext ({POLICY_PLACE}).",
    )


def server_names() -> list[str]:
    """Names in the host's own `mcp_servers:`."""
    return [server.name for server in Configuration.get_instance().endpoints.mcp_servers or ()]


def _warn_privacy() -> None:
    _log.warning(
        "rasa_react_ext.memory.privacy",
        event_info=(
            "endpoints.yml has a `privacy` section, whose rules do not reach the tool calls and "
            "results that agents keep across turns. Set `memory: off` for agents that handle "
            "personal data."
        ),
    )


def _stored(storage: ModelStorage) -> tuple[Domain | None, FlowsList | None]:
    """Domain and flows as the model holds them; None where it holds none."""
    domain: Domain | None = None
    flows: FlowsList | None = None
    try:
        with storage.read_from(Resource("domain_provider")) as folder:
            domain = Domain.from_path(folder)
        with storage.read_from(Resource("flows_provider")) as folder:
            flows = YAMLFlowsReader.read_from_file(folder / "flows.yml", add_line_numbers=False)
    except ValueError as error:
        _log.debug("rasa_react_ext.policy.model_without_flows", error=str(error))
    return domain, flows


def _loop_runs() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
