"""Checks on names: what files name that another must have.

The host finds most of these as well, but names neither file nor line nor the nearest name
that would do. So they are looked for here first, and its words about them left out.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rasa.shared.core.constants import SLOTS_EXCLUDED_FOR_AGENT

from rasa_react_ext.engine import prompt
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.source import entries, section, steps

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["HOST_SLOTS", "check_names"]

HOST_SLOTS = SLOTS_EXCLUDED_FOR_AGENT | {"language", "max_clarification_options"}
"""Slots that a project has without naming them in its domain."""


def check_names(inspection: Inspection, files: Files) -> None:
    """Look at the names in sub agents and flows.

    Args:
        inspection: Takes what is wrong.
        files: The project's files.
    """
    for source in files.agents.values():
        _check_template(inspection, files, source.values())
        if not files.endpoints.problem:
            _check_endpoints(_Teller(inspection, source), source.values(), files.endpoints.values())
    if not files.endpoints.problem:
        _check_groups(_Teller(inspection, files.config), files)
    if not any(source.problem for source in (*files.flows, *files.domain, *files.agents.values())):
        _check_flows(inspection, files)


class _Teller:
    """Keeps errors about names in one file."""

    def __init__(self, inspection: Inspection, source: Source) -> None:
        self._inspection = inspection
        self._source = source

    def tell(
        self,
        parts: Sequence[str],
        word: str,
        problem: str,
        *,
        known: Collection[str],
        about: Sequence[str],
        fix: str = "Correct the name.",
    ) -> None:
        """Keep an error.

        Args:
            parts: Place in the file.
            word: The name that is wrong.
            problem: What is wrong with it.
            known: Names that would do.
            about: Words by which the host's report of the same mistake is known.
            fix: What to do where none of those is near.
        """
        near = difflib.get_close_matches(word, list(known), n=1)
        self._inspection.add(
            Finding(
                file=self._source.path,
                line=self._source.line(parts),
                key=": ".join(parts),
                problem=problem,
                fix=f"Did you mean {near[0]!r}?" if near else fix,
            ),
            about,
        )


def _check_template(inspection: Inspection, files: Files, values: Any) -> None:
    path = Path(str(section(values, "configuration").get("prompt_template") or ""))
    if path.is_file():
        try:
            prompt.check(path.read_text(encoding="utf-8"), file=str(path))
        except ConfigurationError as error:
            name = str(section(values, "agent").get("name"))
            inspection.add(files.refused(error), ["template syntax", repr(name)])


def _check_endpoints(teller: _Teller, here: Any, there: Any) -> None:
    """Model group and MCP servers that endpoints.yml must have."""
    group = str(section(section(here, "configuration"), "llm").get("model_group") or "")
    groups = {str(entry.get("id")) for entry in entries(there, "model_groups")}
    if group and group not in groups:
        parts = ["configuration", "llm", "model_group"]
        problem = f"endpoints.yml has no model group {group!r}."
        fix = f"Add it there under `model_groups:` with id {group!r}."
        teller.tell(
            parts, group, problem, known=groups, about=["model group", repr(group)], fix=fix
        )
    servers = {str(entry.get("name")) for entry in entries(there, "mcp_servers")}
    for entry in entries(section(here, "connections"), "mcp_servers"):
        name = str(entry.get("name") or "")
        if name and name not in servers:
            parts = ["connections", "mcp_servers", name]
            problem = f"endpoints.yml has no MCP server {name!r}."
            fix = f"Add it there under `mcp_servers:` with name {name!r}, url and type."
            about = ["MCP server", "endpoints.yml"]
            teller.tell(parts, name, problem, known=servers, about=about, fix=fix)


def _check_groups(teller: _Teller, files: Files) -> None:
    """Model groups that the components of config.yml name."""
    groups = {str(entry.get("id")) for entry in entries(files.endpoints.values(), "model_groups")}
    for kind in ("pipeline", "policies"):
        for component in entries(files.config.values(), kind):
            for part, value in component.items():
                group = str(section({part: value}, part).get("model_group") or "")
                if group and group not in groups:
                    parts = [kind, str(component.get("name")), str(part), "model_group"]
                    problem = f"endpoints.yml has no model group {group!r}."
                    fix = f"Add it there under `model_groups:` with id {group!r}."
                    about = ["model group", repr(group)]
                    teller.tell(parts, group, problem, known=groups, about=about, fix=fix)


def _check_flows(inspection: Inspection, files: Files) -> None:
    """Steps that call what is not there, or wait for slots the domain lacks."""
    agents = {str(section(s.values(), "agent").get("name")) for s in files.agents.values()}
    flows = {str(name) for source in files.flows for name in section(source.values(), "flows")}
    slots = {str(name) for source in files.domain for name in section(source.values(), "slots")}
    servers = {str(entry.get("name")) for entry in entries(files.endpoints.values(), "mcp_servers")}
    for source in files.flows:
        teller = _Teller(inspection, source)
        for flow, values in section(source.values(), "flows").items():
            for step in steps(values, "link"):
                _check_link(teller, str(step["link"]), str(flow), flows)
            for step in steps(values, "call"):
                place = ["flows", str(flow), str(step.get("id") or step["call"])]
                _check_callee(teller, step, place, agents | flows)
                if not files.endpoints.problem:
                    _check_server(teller, step, place, servers)
                _check_slots(teller, step, place, slots | HOST_SLOTS)


def _check_link(teller: _Teller, link: str, flow: str, known: Collection[str]) -> None:
    # The host has flows of its own, whose names begin like this.
    if link not in known and not link.startswith("pattern_"):
        problem = f"there is no flow {link!r} to go to."
        place, about = ["flows", flow, link], [repr(link), repr(flow)]
        teller.tell(place, link, problem, known=known, about=about)


def _check_callee(
    teller: _Teller, step: Mapping[str, Any], place: Sequence[str], known: Collection[str]
) -> None:
    callee = str(step["call"])
    # A step may call a tool of a server directly; then it names the server.
    if callee not in known and "mcp_server" not in step:
        problem = f"there is no flow or agent {callee!r} to call."
        about = [repr(callee), repr(place[1])]
        teller.tell(place, callee, problem, known=known, about=about)


def _check_server(
    teller: _Teller, step: Mapping[str, Any], place: Sequence[str], known: Collection[str]
) -> None:
    server = str(step.get("mcp_server") or "")
    if server and server not in known:
        problem = f"endpoints.yml has no MCP server {server!r}."
        fix = f"Add it there under `mcp_servers:` with name {server!r}, url and type."
        about = ["MCP server", repr(server)]
        parts = [*place, "mcp_server"]
        teller.tell(parts, server, problem, known=known, about=about, fix=fix)


def _check_slots(
    teller: _Teller, step: Mapping[str, Any], place: Sequence[str], known: Collection[str]
) -> None:
    for condition in map(str, step.get("exit_if") or ()):
        for slot in slot_names([condition]):
            if slot not in known:
                problem = f"the domain has no slot {slot!r}."
                fix = "Add it under `slots:` in the domain, or correct the name."
                parts, about = [*place, "exit_if", condition], [repr(slot), "exit_if"]
                teller.tell(parts, slot, problem, known=known, about=about, fix=fix)
