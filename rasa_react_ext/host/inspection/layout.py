"""Where the host reads the project from: its own files, or copies without told mistakes."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
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
        endpoints: The endpoints.
        sub_agents: The folder of the sub agents that can be read.
    """

    endpoints: Path = Path("endpoints.yml")
    sub_agents: Path = Path("sub_agents")


@contextlib.contextmanager
def laid_out(files: Files) -> Generator[Layout]:
    """Paths to what is left of a project; variables in it stay variables."""
    agents = files.agents.values()
    whole = not any(source.problem or source.mended is not None for source in agents)
    if whole and files.endpoints.mended is None:
        yield Layout()
        return
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout()
        if files.endpoints.mended is not None:
            layout = Layout(endpoints=_written(files.endpoints, Path(folder, "endpoints.yml")))
        if not whole:
            layout = Layout(endpoints=layout.endpoints, sub_agents=Path(folder, "sub_agents"))
            layout.sub_agents.mkdir()
            for name, source in files.agents.items():
                if not source.problem:
                    _place_agent(source, name, layout.sub_agents / name)
        yield layout


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
