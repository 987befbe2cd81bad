"""Reads a project's files through the host, one finding for each that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rasa.agents.validation import validate_agent_folder
from rasa.core.config.configuration import Configuration
from rasa.shared.importers.importer import TrainingDataImporter
from rasa.shared.utils.yaml import read_config_file

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.inspection.finding import Finding, Inspection

if TYPE_CHECKING:
    from rasa.core.available_agents import AgentConfig
    from rasa.core.config.available_endpoints import AvailableEndpoints
    from rasa.shared.core.domain import Domain
    from rasa.shared.core.flows import FlowsList

__all__ = ["Project", "attempt", "read_project"]

OUR_POLICY = "rasa_react_ext.policy.ReActPolicy"
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The parts of a project that could be read.

    Attributes:
        root: Folder of the project, which is the working directory.
        policy: Our keys of the policy entry.
        endpoints: The host's endpoints.
        agents: Sub agents by name.
        domain: The domain, or None.
        flows: The flows, or None.
    """

    root: Path
    policy: Mapping[str, Any]
    endpoints: AvailableEndpoints
    agents: Mapping[str, AgentConfig]
    domain: Domain | None
    flows: FlowsList | None


def attempt(
    inspection: Inspection, file: str, root: Path, read: Callable[[], _Read]
) -> _Read | None:
    """Do something that may refuse the project; the refusal becomes a finding."""
    try:
        return read()
    except ConfigurationError as error:
        inspection.findings.append(Finding.of(error, root))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the host raises many kinds
        words = " ".join(str(error).split()) or type(error).__name__
        inspection.findings.append(
            Finding(level="error", file=file, line=None, key="", text=f"The host says: {words}")
        )
    return None


def read_project(inspection: Inspection, root: Path, *, domain: str, data: list[str]) -> Project:
    """Read config, endpoints, sub agents, domain and flows of the working directory.

    Args:
        inspection: Takes what is wrong.
        root: The working directory.
        domain: Domain file or folder.
        data: Files and folders with flows.
    """
    config = attempt(inspection, "config.yml", root, lambda: read_config_file("config.yml")) or {}
    policies = [entry for entry in config.get("policies") or [] if isinstance(entry, dict)]
    ours = next((entry for entry in policies if entry.get("name") == OUR_POLICY), None)
    _check_policies(inspection, policies, ours)
    attempt(
        inspection,
        "endpoints.yml",
        root,
        lambda: Configuration.initialise_endpoints(Path("endpoints.yml")),
    )
    Configuration.initialise_empty()
    attempt(inspection, "sub_agents", root, lambda: validate_agent_folder("sub_agents"))
    attempt(
        inspection,
        "sub_agents",
        root,
        lambda: Configuration.initialise_sub_agents(Path("sub_agents")),
    )
    settings = Configuration.get_instance()
    importer = attempt(
        inspection,
        "config.yml",
        root,
        lambda: TrainingDataImporter.load_from_config("config.yml", domain, data),
    )
    return Project(
        root=root,
        policy={key: value for key, value in (ours or {}).items() if key != "name"},
        endpoints=settings.endpoints,
        agents=settings.available_agents.agents,
        domain=attempt(inspection, domain, root, importer.get_domain) if importer else None,
        flows=attempt(inspection, "flows", root, importer.get_flows) if importer else None,
    )


def _check_policies(
    inspection: Inspection, policies: list[dict[str, Any]], ours: Mapping[str, Any] | None
) -> None:
    names = [str(entry.get("name")) for entry in policies]
    text = ""
    if ours is None:
        text = f"The agents run on the host's own engine. Add `- name: {OUR_POLICY}`."
    elif not any(name.rpartition(".")[2] == "FlowPolicy" for name in names):
        text = "ReActPolicy stands alone, but FlowPolicy advances flows. Add `- name: FlowPolicy`."
    if text:
        inspection.findings.append(
            Finding(level="error", file="config.yml", line=None, key="policies", text=text)
        )
