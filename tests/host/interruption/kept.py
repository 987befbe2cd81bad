"""A project whose conversations outlive the process: they are in an SQLite file."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from tests.host.project import Project

__all__ = ["KeptProject", "kept"]


@dataclass(frozen=True, kw_only=True)
class KeptProject(Project):
    """The same project with a tracker store in its folder."""

    def _write(self) -> None:
        super()._write()
        path = self.folder / "endpoints.yml"
        endpoints = yaml.safe_load(path.read_text(encoding="utf-8"))
        database = str(self.folder / "conversations.db")
        endpoints["tracker_store"] = {"type": "sql", "dialect": "sqlite", "db": database}
        path.write_text(yaml.safe_dump(endpoints, sort_keys=False), encoding="utf-8")


def kept(project: Project) -> KeptProject:
    """A project with its conversations kept on disk."""
    return KeptProject(**{name: getattr(project, name) for name in project.__dataclass_fields__})
