"""Checks on the form of endpoints.yml and of sub agents: their keys, and the kind of each value.

The host tells such mistakes one at a time and in the words of a library.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from rasa.agents.validation import ALLOWED_KEYS
from rasa.core.available_agents import (
    AgentConfiguration,
    AgentConnections,
    AgentInfo,
    AgentMCPServerConfig,
)
from rasa.core.config.available_endpoints import MCPServerConfig
from rasa.utils.endpoints import EndpointConfig

from rasa_react_ext.explain.setting import nearest
from rasa_react_ext.host.inspection.draft import NEAR, Draft, entry_name
from rasa_react_ext.host.inspection.model_group import check_model_groups
from rasa_react_ext.host.inspection.slot import check_slots
from rasa_react_ext.host.inspection.store import check_stores
from rasa_react_ext.host.settings import SECTION

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.finding import Inspection
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["check_shapes"]

_ENDPOINTS = frozenset(
    {
        SECTION,
        "a2a_server",
        "action_endpoint",
        "event_broker",
        "interaction_handling",
        "lock_store",
        "mcp_servers",
        "metrics",
        "model_groups",
        "models",
        "nlg",
        "nlu",
        "privacy",
        "recordings",
        "secrets_manager",
        "timer_store",
        "tracing",
        "tracker_store",
        "vector_store",
    }
)
"""Sections that the host or this package reads; a project may have more of its own."""

_DOMAIN = frozenset(
    {
        "actions",
        "config",
        "e2e_actions",
        "entities",
        "forms",
        "imports",
        "intents",
        "responses",
        "session_config",
        "slots",
        "version",
    }
)
_FLOWS = frozenset({"flows", "nlu", "responses", "rules", "stories", "version"})
_ACTION_ENDPOINT = set(signature(EndpointConfig).parameters) - {"kwargs"}
_LISTS = ("mcp_servers", "model_groups")
_MAPPINGS = (
    "interaction_handling",
    "metrics",
    "models",
    "nlg",
    "nlu",
    "privacy",
    "recordings",
    "timer_store",
    "tracing",
    "vector_store",
)
"""Sections of which nothing else is looked at; the host fails without a word at other values."""
_SERVER_KINDS = ("http", "https")
_NO_ADDRESS = "http://unset.invalid/"


def check_shapes(inspection: Inspection, files: Files, unset: Sequence[str]) -> Files:
    """Look at keys and values.

    Args:
        inspection: Takes what is wrong.
        files: The project's files.
        unset: Variables of the environment that are not set, which were told.

    Returns:
        The files without what was found, so that it hides nothing else.
    """
    return replace(
        files,
        endpoints=_endpoints(Draft(inspection, files.endpoints, unset)),
        domain=[_domain(Draft(inspection, source, unset)) for source in files.domain],
        flows=[_sections(Draft(inspection, source, unset), _FLOWS) for source in files.flows],
        agents={
            folder: _agent(Draft(inspection, source, unset), folder)
            for folder, source in files.agents.items()
        },
    )


def _sections(draft: Draft, known: Collection[str]) -> Source:
    if draft.is_readable:
        draft.keys([], known, cutoff=NEAR, only=False)
    return draft.done()


def _domain(draft: Draft) -> Source:
    if draft.is_readable:
        draft.keys([], _DOMAIN, cutoff=NEAR, only=False)
        check_slots(draft)
    return draft.done()


def _endpoints(draft: Draft) -> Source:
    held = list[bool]()
    if draft.is_readable:
        draft.keys([], _ENDPOINTS, cutoff=NEAR, only=False)
        held = [draft.holds_entries([part]) for part in _LISTS]
        for index, entry in enumerate(draft.at("mcp_servers") or ()):
            _server(draft, ["mcp_servers", entry_name(entry, index)])
        for part in _MAPPINGS:
            draft.is_mapping([part])
        if draft.is_mapping(["action_endpoint"]):
            draft.keys(["action_endpoint"], _ACTION_ENDPOINT, cutoff=NEAR, only=False)
        check_model_groups(draft)
        check_stores(draft)
    # Agents would miss every name that may stand there.
    return draft.done() if all(held) else replace(draft.done(), problem="names are lost")


def _server(draft: Draft, place: list[str]) -> None:
    # What else stands there the host hands on to the server's sign-in.
    names = set(MCPServerConfig.model_fields) - {"additional_params"}
    draft.keys(place, names, cutoff=NEAR, only=False)
    # A key that must be there and is not is meant by a less similar one.
    draft.keys(place, {"name", "url", "type"}, only=False)
    kind = draft.at(*place, "type")
    if isinstance(kind, str) and "${" not in kind and kind not in _SERVER_KINDS:
        problem = f"{kind!r} is no type of server; how a server is reached otherwise, "
        problem += f"`{SECTION}: mcp_servers:` says."
        draft.wrong_value(
            [*place, "type"], problem, nearest(kind, ["http"]) or "Write http.", "http"
        )
    stand_ins = {"name": place[-1], "url": _NO_ADDRESS, "type": "http"}
    draft.fits(place, MCPServerConfig, stand_ins)


def _agent(draft: Draft, folder: str) -> Source:
    if not draft.is_readable:
        return draft.done()
    draft.keys([], ALLOWED_KEYS, only=True, deeper=ALLOWED_KEYS)
    stand_ins = {"name": folder, "description": folder}
    for part, allowed in ALLOWED_KEYS.items():
        if draft.is_mapping([part]):
            draft.keys([part], allowed, only=True)
    place = ["connections", "mcp_servers"]
    about = ["connections.mcp_servers", repr(draft.at("agent", "name"))]
    servers = draft.at(*place) if draft.is_list(place, about) else ()
    for index, entry in enumerate(servers):
        if isinstance(entry, dict):
            place = ["connections", "mcp_servers", entry_name(entry, index)]
            draft.keys(place, AgentMCPServerConfig.model_fields, cutoff=NEAR, only=False)
    if isinstance(draft.at("agent"), dict):
        draft.fits(["agent"], AgentInfo, stand_ins)
    if isinstance(draft.at("configuration"), dict):
        draft.fits(["configuration"], AgentConfiguration, {})
        _zone(draft, ["configuration", "timezone"])
    if isinstance(draft.at("connections"), dict):
        draft.fits(["connections"], AgentConnections, {})
    return draft.done()


def _zone(draft: Draft, place: list[str]) -> None:
    zone, zones = str(draft.at(*place) or ""), available_timezones()
    if zone and "${" not in zone and zone not in zones:
        fix = "Write an IANA name such as Europe/Berlin, or remove the key for UTC."
        problem = f"{zone!r} is no IANA time zone."
        draft.wrong_value(place, problem, nearest(zone, zones) or fix, None)
