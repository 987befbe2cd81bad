"""Checks on the form of endpoints.yml and of sub agents: their keys, and the kind of each value.

The host tells such mistakes one at a time and in the words of a library.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from pydantic import BaseModel, ValidationError
from rasa.agents.validation import ALLOWED_KEYS
from rasa.core.available_agents import (
    AgentConfiguration,
    AgentConnections,
    AgentInfo,
    AgentMCPServerConfig,
)
from rasa.core.config.available_endpoints import MCPServerConfig

from rasa_react_ext.host.inspection import mend
from rasa_react_ext.host.inspection.explain import MEANT, UNKNOWN_KEY, explained
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.source import meant, nearest
from rasa_react_ext.host.settings import SECTION

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
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
_NEAR = 0.75
_SERVER_KINDS = ("http", "https")
_NO_ADDRESS = "http://unset.invalid/"
_MOST = 5


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
        endpoints=_endpoints(_Draft(inspection, files.endpoints, unset)),
        domain=[_sections(_Draft(inspection, source, unset), _DOMAIN) for source in files.domain],
        flows=[_sections(_Draft(inspection, source, unset), _FLOWS) for source in files.flows],
        agents={
            folder: _agent(_Draft(inspection, source, unset), folder)
            for folder, source in files.agents.items()
        },
    )


class _Draft:
    """The values of one file, from which each mistake is taken when it is told.

    Args:
        inspection: Takes the mistakes.
        source: The file.
        unset: Variables that are not set.
    """

    def __init__(self, inspection: Inspection, source: Source, unset: Sequence[str]) -> None:
        self._inspection = inspection
        self._source = source
        self._unset = unset
        self._written: dict[tuple[str, ...], str] = {}
        self._values = copy.deepcopy(source.values())
        self._changed = False

    @property
    def is_readable(self) -> bool:
        """Whether the file holds keys at all."""
        return isinstance(self._values, dict)

    def at(self, *parts: str) -> Any:
        """What is at a place."""
        return mend.at(self._values, parts)

    def done(self) -> Source:
        """The file with what is left."""
        return replace(self._source, mended=self._values) if self._changed else self._source

    def keys(
        self, parts: Sequence[str], allowed: Collection[str], *, cutoff: float = 0.6, only: bool
    ) -> None:
        """Tell of unknown keys.

        Args:
            parts: Where the keys are.
            allowed: Those that are known.
            cutoff: How near a key must be to one of them to be taken for it.
            only: Whether others than those, and than what is near to one, are mistakes.
        """
        values = self.at(*parts)
        for key in [str(key) for key in values] if isinstance(values, dict) else []:
            right = meant(key, set(allowed) - set(values), cutoff=cutoff)
            if key in allowed or not (right or only):
                continue
            others = f"The keys there are: {', '.join(sorted(allowed))}."
            place = [*parts, key]
            self.tell(place, UNKNOWN_KEY, nearest(key, [right]) if right else others)
            if right:
                mend.rename(self._values, place, right)
                self._written[(*parts, right)] = key
            else:
                mend.drop(self._values, place)

    def fits(
        self, parts: Sequence[str], model: type[BaseModel], stand_ins: Mapping[str, Any]
    ) -> None:
        """Tell of values that have the wrong form.

        Args:
            parts: Where they are.
            model: The host's description of them.
            stand_ins: What takes the place of values that must be there.
        """
        for _ in range(_MOST):
            try:
                values = mend.expanded(self.at(*parts))
                model(**values)
            except ValidationError as error:
                for details in error.errors():
                    self._wrong(parts, dict(details), stand_ins)
            else:
                return

    def is_mapping(self, parts: Sequence[str]) -> bool:
        """Whether there are keys at a place; tells of anything else there."""
        values = self.at(*parts)
        if values is not None and not isinstance(values, dict):
            self.tell(parts, *explained({"type": "dict_type"}))
            mend.drop(self._values, parts)
        return isinstance(values, dict)

    def wrong_value(self, parts: Sequence[str], problem: str, fix: str, value: Any) -> None:
        """Tell of a value, and put another in its place; None takes its key out."""
        self.tell(parts, problem, fix)
        above = self.at(*parts[:-1])
        above.pop(parts[-1], None)
        if value is not None:
            above[parts[-1]] = value

    def tell(self, parts: Sequence[str], problem: str, fix: str) -> None:
        """Keep an error."""
        written = [self._written.get((*parts[:n], part), part) for n, part in enumerate(parts)]
        self._changed = True
        self._inspection.add(
            Finding(
                file=self._source.path,
                line=self._source.line(written),
                key=": ".join(written),
                problem=problem,
                fix=fix,
            )
        )

    def _wrong(
        self, parts: Sequence[str], details: Mapping[str, Any], stand_ins: Mapping[str, Any]
    ) -> None:
        place = self._named([*parts, *map(str, details["loc"])])
        if not mend.is_unset(self.at(*place), self._unset):  # told before
            self.tell(place, *explained(details))
        self._changed = True
        if len(place) == len(parts):  # the whole entry: only what must be there stays
            kept = {key: self.at(*parts, key) or value for key, value in stand_ins.items()}
            self.at(*parts).clear()
            self.at(*parts).update(kept)
            return
        mend.drop(self._values, place)
        instead = stand_ins.get(place[-1])
        if (right := MEANT.search(explained(details)[1])) is not None:
            instead = right[1]
        above = self.at(*place[:-1])
        if isinstance(above, dict) and instead is not None:
            above[place[-1]] = instead

    def _named(self, parts: Sequence[str]) -> list[str]:
        """The place with entries of lists by their names."""
        named = list[str]()
        for part in parts:
            above, entry = self.at(*named), self.at(*named, part)
            name = entry.get("name") if isinstance(entry, dict) else None
            named.append(name if isinstance(above, list) and isinstance(name, str) else part)
        return named


def _sections(draft: _Draft, known: Collection[str]) -> Source:
    if draft.is_readable:
        draft.keys([], known, cutoff=_NEAR, only=False)
    return draft.done()


def _endpoints(draft: _Draft) -> Source:
    if draft.is_readable:
        draft.keys([], _ENDPOINTS, cutoff=_NEAR, only=False)
        for index, entry in enumerate(draft.at("mcp_servers") or ()):
            if isinstance(entry, dict):
                _server(draft, ["mcp_servers", _entry(entry, index)])
    return draft.done()


def _entry(entry: Mapping[str, Any], index: int) -> str:
    """By what an entry of a list is found."""
    name = entry.get("name")
    return name if isinstance(name, str) and name else str(index)


def _server(draft: _Draft, place: list[str]) -> None:
    # What else stands there the host hands on to the server's sign-in.
    names = set(MCPServerConfig.model_fields) - {"additional_params"}
    draft.keys(place, names, cutoff=_NEAR, only=False)
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


def _agent(draft: _Draft, folder: str) -> Source:
    if not draft.is_readable:
        return draft.done()
    draft.keys([], ALLOWED_KEYS, only=True)
    stand_ins = {"name": folder, "description": folder}
    for part, allowed in ALLOWED_KEYS.items():
        if draft.is_mapping([part]):
            draft.keys([part], allowed, only=True)
    servers = draft.at("connections", "mcp_servers")
    for index, entry in enumerate(servers if isinstance(servers, list) else ()):
        if isinstance(entry, dict):
            place = ["connections", "mcp_servers", _entry(entry, index)]
            draft.keys(place, AgentMCPServerConfig.model_fields, cutoff=_NEAR, only=False)
    if isinstance(draft.at("agent"), dict):
        draft.fits(["agent"], AgentInfo, stand_ins)
    if isinstance(draft.at("configuration"), dict):
        draft.fits(["configuration"], AgentConfiguration, {})
        _zone(draft, ["configuration", "timezone"])
    if isinstance(draft.at("connections"), dict):
        draft.fits(["connections"], AgentConnections, {})
    return draft.done()


def _zone(draft: _Draft, place: list[str]) -> None:
    zone, zones = str(draft.at(*place) or ""), available_timezones()
    if zone and "${" not in zone and zone not in zones:
        fix = "Write an IANA name such as Europe/Berlin, or remove the key for UTC."
        problem = f"{zone!r} is no IANA time zone."
        draft.wrong_value(place, problem, nearest(zone, zones) or fix, None)
