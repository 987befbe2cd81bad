"""Where the host reads the project from: its own files, or copies without told mistakes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection.files import Files
    from rasa_react_ext.host.inspection.source import Source

__all__ = ["Layout", "laid_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Paths that the host is given.

    Attributes:
        domain: File or folder of the domain.
        config: The configuration.
        endpoints: The endpoints.
        sub_agents: The folder of the sub agents that can be read.
    """

    domain: str
    config: Path = Path("config.yml")
    endpoints: Path = Path("endpoints.yml")
    sub_agents: Path = Path("sub_agents")


@contextlib.contextmanager
def laid_out(files: Files, domain: str) -> Generator[Layout]:
    """Paths to what is left of a project; variables in it stay variables.

    Args:
        files: The project's files.
        domain: File or folder of the domain as it is.
    """
    agents = files.agents.values()
    whole = not any(source.problem or source.mended is not None for source in agents)
    layout = Layout(domain=domain)
    with tempfile.TemporaryDirectory() as folder:
        if files.config.mended is not None:
            layout = replace(layout, config=_written(files.config, Path(folder, "config.yml")))
        if files.endpoints.mended is not None:
            endpoints = _written(files.endpoints, Path(folder, "endpoints.yml"))
            layout = replace(layout, endpoints=endpoints)
        if any(source.mended is not None for source in files.domain):
            layout = replace(
                layout, domain=str(_place_domain(files.domain, Path(folder, "domain")))
            )
        if not whole:
            layout = replace(layout, sub_agents=Path(folder, "sub_agents"))
            layout.sub_agents.mkdir()
            for name, source in files.agents.items():
                if not source.problem:
                    _place_agent(source, name, layout.sub_agents / name)
        yield layout


def _place_domain(sources: Sequence[Source], folder: Path) -> Path:
    folder.mkdir()
    for number, source in enumerate(sources):
        place = folder / f"{number}.yml"
        if source.mended is None:
            place.symlink_to(Path(source.path).resolve())
        else:
            _written(source, place)
    return folder


def _place_agent(source: Source, name: str, place: Path) -> None:
    if source.mended is None:
        place.symlink_to(Path("sub_agents", name).resolve())
    else:
        place.mkdir()
        _written(source, place / "config.yml")


def _written(source: Source, path: Path) -> Path:
    text = yaml.safe_dump(source.mended, default_flow_style=False, width=10_000, sort_keys=False)
    path.write_text(text, encoding="utf-8")
    return path
