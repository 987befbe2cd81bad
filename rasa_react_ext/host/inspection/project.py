"""Reads a project through the host, one finding for each thing that it refuses."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rasa.agents.validation import validate_agent_folder
from rasa.core.config.configuration import Configuration
from rasa.engine.validation import validate_model_group_configuration_setup
from rasa.shared.core.domain import Domain
from rasa.shared.importers.importer import TrainingDataImporter
from rasa.shared.utils.yaml import YamlValidationException

from rasa_react_ext.a2a_server.named_file import refused_files
from rasa_react_ext.a2a_server.settings import CHANNEL, ServerSettings
from rasa_react_ext.a2a_server.settings import read_settings as read_server_settings
from rasa_react_ext.channels.task_updates import TaskUpdates
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.explain.setting import explained, model_error
from rasa_react_ext.host.a2a.requirement import check_block
from rasa_react_ext.host.binding import server_names
from rasa_react_ext.host.external.build import CHANNEL as REPORT_CHANNEL
from rasa_react_ext.host.external.build import external_names
from rasa_react_ext.host.import_fault import fault_of, fault_words
from rasa_react_ext.host.inspection.files import parts_of
from rasa_react_ext.host.inspection.finding import Finding, Inspection
from rasa_react_ext.host.inspection.mend import expanded, read_mending
from rasa_react_ext.host.inspection.source import section
from rasa_react_ext.host.inspection.writable import check_store, check_traces
from rasa_react_ext.host.inspection.written import policy_keys, unset_variables
from rasa_react_ext.host.settings import (
    POLICY_PLACE,
    SECTION,
    Settings,
    check_kinds,
    read_settings,
)
from rasa_react_ext.store.database import store_url

if TYPE_CHECKING:
    from rasa.core.available_agents import AgentConfig
    from rasa.core.config.available_endpoints import AvailableEndpoints
    from rasa.shared.core.flows import FlowsList

    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.layout import Layout
    from rasa_react_ext.host.inspection.source import Source

__all__ = [
    "Project",
    "as_written",
    "attempt",
    "note_refusal",
    "read_project",
    "validate_agents",
    "variables_filled_in",
]

_IMPORT = "cannot be imported"
_PLACEHOLDER = "http://unset.invalid/"
_FILLED_IN = re.compile(re.escape(_PLACEHOLDER) + r"(\w*)")
_OF_A_LIBRARY = "errors.pydantic.dev"
_OF_AGENT = re.compile(r"sub_agents: ([^:]+): config\.yml")
_QUOTED = re.compile(r"'([^']+)'")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The parts of a project that could be read.

    Attributes:
        settings: Ours, or None.
        endpoints: The host's endpoints, or None.
        agents: Sub agents by name.
        domain: The domain, or None.
        flows: The flows, or None.
        importer: The host's reader of flows and domain; None where it refuses them.
    """

    settings: Settings | None
    endpoints: AvailableEndpoints | None
    agents: Mapping[str, AgentConfig]
    domain: Domain | None
    flows: FlowsList | None
    importer: Any = None


def attempt(
    inspection: Inspection, files: Files, file: str, read: Callable[[], _Read]
) -> _Read | None:
    """Do something that may refuse the project; the refusal becomes a finding.

    Args:
        inspection: Takes it.
        files: The files in which it is placed.
        file: The one to blame where the host names none.
        read: What to do.
    """
    try:
        return read()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the host raises many kinds
        note_refusal(inspection, files, file, error)
    return None


def note_refusal(inspection: Inspection, files: Files, file: str, error: BaseException) -> None:
    """Make a finding of an error, unless the same mistake was told before.

    Args:
        inspection: Takes it.
        files: The files in which it is placed.
        file: The one to blame where the host names none.
        error: The error.
    """
    if isinstance(error, ConfigurationError):
        found, about = files.refused(error), _about(error)
        inspection.add(_at_import(found, error) if _IMPORT in error.problem else found, about)
    elif (place := fault_of(error)) and place in {(f.file, f.line) for f in inspection.findings}:
        return  # an import that was told to fail, in the host's words
    elif not inspection.told(words := _words(error)):
        finding, cause = files.said(words, file), model_error(error)
        if isinstance(error, YamlValidationException) and error.validation_errors:
            finding = files.misshapen(finding, error.validation_errors[0], error)
        if cause is not None and _OF_A_LIBRARY in words:
            problem, fix = explained(dict(cause.errors()[0]))
            key = ": ".join(map(str, cause.errors()[0]["loc"])) or finding.key
            finding = replace(finding, key=key, problem=problem, fix=fix)
        inspection.add(finding)


def _about(error: ConfigurationError) -> list[str]:
    """Words by which the host's report of the same mistake is known."""
    agent, parts = _OF_AGENT.match(error.file), parts_of(error.key)
    if agent is not None and len(parts) > 1 and not _QUOTED.search(error.problem):
        return [repr(agent[1]), ".".join(parts)]
    return _QUOTED.findall(error.problem)[:1]


def _at_import(finding: Finding, error: BaseException) -> Finding:
    """With the place where an import fails, if that is in the project's code and not the path."""
    place = fault_of(error)
    if place is None:
        return finding
    return Finding(
        file=place[0],
        line=place[1],
        problem=fault_words(error),
        fix=f"Correct it: {finding.file}: {finding.key} needs this file.",
    )


def _words(error: BaseException) -> str:
    try:
        return " ".join(str(error).split()) or type(error).__name__
    except Exception:  # noqa: BLE001 - an error of the host that cannot place itself
        return "the file does not have the form that is needed"


@contextlib.contextmanager
def variables_filled_in(files: Files) -> Generator[Sequence[str]]:
    """Let the host read files whose variables are unset; yields the names of these."""
    sources = (files.endpoints, files.credentials, *files.agents.values())
    names = {name for source in sources for name, _ in unset_variables(source)}
    os.environ.update({name: f"{_PLACEHOLDER}{name}" for name in names})
    try:
        yield sorted(names)
    finally:
        for name in names:
            os.environ.pop(name, None)


def as_written(text: str) -> str:
    """A text with the names of unset variables in place of what was filled in for them."""
    return _FILLED_IN.sub(lambda found: f"${{{found[1]}}}" if found[1] else "no address", text)


def read_project(inspection: Inspection, files: Files, layout: Layout, data: list[str]) -> Project:
    """Read what can be read of the project in the working directory.

    Args:
        inspection: Takes what is wrong.
        files: The project's files; what needs a broken one is left out.
        layout: Where the host reads them.
        data: Files and folders with flows.
    """
    Configuration.initialise_empty()
    if (has_endpoints := not files.endpoints.problem) is True:
        read = Configuration.initialise_endpoints
        path = layout.endpoints
        has_endpoints = attempt(inspection, files, "endpoints.yml", lambda: read(path)) is not None
    if has_endpoints:
        attempt(inspection, files, "endpoints.yml", validate_model_group_configuration_setup)
    agents = _agents(inspection, files, layout)
    _check_served(inspection, files)
    flows, its_domain, importer = _flows_and_domain(inspection, files, layout, data)
    _check_sessions(inspection, files, its_domain)
    complete = not any(source.problem for source in files.agents.values())
    return Project(
        settings=_settings(inspection, files, agents if complete else None),
        endpoints=Configuration.get_instance().endpoints if has_endpoints else None,
        agents=agents or {},
        domain=its_domain,
        flows=flows,
        importer=importer,
    )


def _settings(
    inspection: Inspection,
    files: Files,
    agents: Mapping[str, AgentConfig] | None,
) -> Settings | None:
    endpoints = files.endpoints.values()
    if not isinstance(endpoints, Mapping | None):
        return None

    def read(values: Any) -> Settings:
        settings = read_settings(values["config.yml"], values.get("endpoints.yml"))
        store_url(settings.deployment.store.get_secret_value())
        if not files.endpoints.problem:
            settings.check_servers(server_names())
        if agents is not None:
            settings.check_agents(list(agents))
            check_kinds(settings, external_names(agents))
        return settings

    def locate(error: ConfigurationError) -> list[str]:
        place = SECTION if error.file == "endpoints.yml" else POLICY_PLACE
        return [error.file, *parts_of(error.key.removeprefix(place).removeprefix(": "))]

    written = {
        "config.yml": dict(policy_keys(files.config)),
        "endpoints.yml": expanded((endpoints or {}).get(SECTION)),
    }
    tell = partial(note_refusal, inspection, files, "config.yml")
    try:
        settings, mended = read_mending(written, read, tell, locate)
    except Exception as error:  # noqa: BLE001 - the host raises many kinds
        note_refusal(inspection, files, files.endpoints.path, error)
        return None
    if settings is None:
        return None
    if _PLACEHOLDER not in str(written["endpoints.yml"]):
        _check_places(inspection, files, settings)
    if not (mended or files.config.problem or files.config.mended):
        return settings
    # What a mistake may have allowed is not told to be missing.
    engine = settings.engine.model_copy(update={"allow_private_push_url": True})
    return settings.model_copy(update={"engine": engine})


def _check_places(inspection: Inspection, files: Files, settings: Settings) -> None:
    """What the deployment writes."""
    for check in (check_store, check_traces):
        attempt(inspection, files, "endpoints.yml", partial(check, settings.deployment))


def _agents(
    inspection: Inspection, files: Files, layout: Layout
) -> Mapping[str, AgentConfig] | None:
    """The sub agents that can be read; None where they cannot be read together."""
    if not files.agents:
        return {}
    try:
        Configuration.initialise_sub_agents(layout.sub_agents)
    except Exception as error:  # noqa: BLE001 - the host raises many kinds
        before = len(inspection.findings)
        validate_agents(inspection, files, layout)
        if len(inspection.findings) == before:
            inspection.add(files.said(_words(error), "sub_agents"))
        return None
    return Configuration.get_instance().available_agents.agents


def validate_agents(inspection: Inspection, files: Files, layout: Layout) -> None:
    """Have the host look at the folder of each agent, after ours was found to be in order.

    Args:
        inspection: Takes what is wrong.
        files: The project's files.
        layout: Where the host reads them.
    """
    for name, source in files.agents.items():
        if not source.problem:
            place = layout.sub_agents / name
            attempt(inspection, files, source.path, lambda place=place: _validate(place))


def _validate(place: Path) -> None:
    """The host validates folders of agents and stops at the first; so show it one at a time."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, place.name).symlink_to(place.resolve())
        validate_agent_folder(folder)


def _check_served(inspection: Inspection, files: Files) -> None:
    """Our channels: for reports of agents, and the one that serves this assistant as an agent."""
    values = files.credentials.values()
    if not isinstance(values, Mapping):
        return
    readers: tuple[tuple[str, Callable[[Any], object]], ...] = (
        (REPORT_CHANNEL, TaskUpdates.from_credentials),
        (CHANNEL, read_server_settings),
    )
    for name, read in readers:
        if name in values:
            entry = expanded(section(values, name))
            tell = partial(note_refusal, inspection, files, files.credentials.path)
            made, _ = read_mending(entry, read, tell, lambda error: parts_of(error.key)[1:])
            for error in refused_files(made) if isinstance(made, ServerSettings) else ():
                if _PLACEHOLDER not in error.problem:
                    tell(error)
    if CHANNEL in values:
        attempt(inspection, files, files.endpoints.path, check_block)


def _check_sessions(inspection: Inspection, files: Files, domain: Domain | None) -> None:
    """What the domain must say where this assistant is served as an agent."""
    served = CHANNEL in (files.credentials.values() or {})
    if not served or domain is None or not files.domain:
        return
    if domain.session_config.start_session_after_expiry:
        holders = [source for source in files.domain if "session_config" in (source.values() or {})]
        source = (holders or files.domain)[0]
        inspection.add(
            Finding(
                file=source.path,
                line=source.line(["session_config"]),
                key="session_config: start_session_after_expiry",
                problem=f"{CHANNEL} needs sessions that go on after a pause.",
                fix="Write start_session_after_expiry: false under session_config.",
            )
        )


def _flows_and_domain(
    inspection: Inspection, files: Files, layout: Layout, data: list[str]
) -> tuple[FlowsList | None, Domain | None, Any]:
    needed: list[Source] = [files.config, *files.domain, *files.flows, *files.agents.values()]
    if any(source.problem for source in needed):
        return None, None, None
    domain = layout.domain
    named = files.domain[0].path if files.domain else domain
    # First without the flows, which the host cannot read either where a slot is not in order.
    if attempt(inspection, files, named, lambda: Domain.load(domain)) is None:
        return None, None, None
    importer: Any = attempt(
        inspection,
        files,
        "config.yml",
        lambda: TrainingDataImporter.load_from_config(str(layout.config), domain, data),
    )
    if importer is None:
        return None, None, None
    flows = attempt(inspection, files, data[0], importer.get_flows)
    if flows is None:
        return None, None, None  # the domain is read with the flows and would be refused for them
    read = attempt(inspection, files, named, importer.get_domain)
    return flows, read, importer if read is not None else None
