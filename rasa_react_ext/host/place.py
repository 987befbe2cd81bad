"""Where a project keeps its data, read without the host's own parts, which take seconds to load."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.dot_env import read_dot_env
from rasa_react_ext.host.settings import DEFAULT_STORE, SECTION

__all__ = ["Place", "read_place"]

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a project keeps its data.

    Attributes:
        store: The `store` setting; holds a password, perhaps.
        is_usual: Whether nothing is set, so that this is the usual one.
        trace_folder: The `trace_folder` setting; None where there is no record.
    """

    store: str
    is_usual: bool
    trace_folder: Path | None


def read_place(endpoints: Path) -> Place:
    """Read the settings, variables filled in from the environment and `.env` as the host does.

    Args:
        endpoints: The endpoints.yml in the project's folder.

    Raises:
        ConfigurationError: The file cannot be read, or a variable is not set.
    """
    read_dot_env()
    section = _section(endpoints)
    folder = section.get("trace_folder")
    return Place(
        store=_filled(str(section.get("store") or DEFAULT_STORE), "store", endpoints),
        is_usual=not section.get("store"),
        trace_folder=Path(_filled(str(folder), "trace_folder", endpoints)) if folder else None,
    )


def _section(endpoints: Path) -> Mapping[str, Any]:
    problem, values = "", None
    try:
        values = yaml.safe_load(endpoints.read_text(encoding="utf-8"))
    except FileNotFoundError:
        problem = "there is no such file."
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        problem = f"it cannot be read ({' '.join(str(error).split())})."
    section = values.get(SECTION) if isinstance(values, Mapping) else None
    if section is not None and not isinstance(section, Mapping):
        problem = f"{SECTION}: a mapping is needed there."
    if problem:
        raise ConfigurationError(
            file=str(endpoints),
            key="file",
            problem=problem,
            fix="Run this in the project's folder, or name the store with --store.",
        )
    return section if isinstance(section, Mapping) else {}


def _filled(text: str, key: str, endpoints: Path) -> str:
    missing = [name for name in _VARIABLE.findall(text) if name not in os.environ]
    if missing:
        raise ConfigurationError(
            file=str(endpoints),
            key=f"{SECTION}: {key}",
            problem=f"the environment variable {missing[0]!r} is not set.",
            fix="Set it, or write it into the project's .env.",
        )
    return _VARIABLE.sub(lambda found: os.environ[found[1]], text)
