"""Checks that what the deployment writes can be written; what that makes is removed again."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.settings import SECTION, DeploymentSettings
from rasa_react_ext.store import Database

__all__ = ["check_store", "check_traces"]


def check_store(deployment: DeploymentSettings) -> None:
    """Refuse a SQLite file that cannot be written; the usual one may be missing.

    Raises:
        ConfigurationError: Names the file.
    """
    url = Database(deployment.store.get_secret_value()).url
    if "store" not in deployment.model_fields_set or url.get_backend_name() != "sqlite":
        return
    file = Path(url.database or "")
    reason = _obstacle(file.parent) if url.database else ""
    if file.exists() and (file.is_dir() or not os.access(file, os.W_OK)):
        reason = "it is a folder" if file.is_dir() else "it may only be read"
    if reason:
        fix = "Name a file in a folder that can be written, or a PostgreSQL address."
        raise _refusal("store", file, reason, fix)


def check_traces(deployment: DeploymentSettings) -> None:
    """Refuse a folder of records that cannot be written.

    Raises:
        ConfigurationError: Names the folder.
    """
    folder = deployment.trace_folder
    if folder and (reason := _obstacle(Path(folder))):
        raise _refusal("trace_folder", Path(folder), reason, "Name a folder that can be written.")


def _refusal(key: str, path: Path, reason: str, fix: str) -> ConfigurationError:
    problem = f"{str(path)!r} cannot be written ({reason})."
    return ConfigurationError(
        file="endpoints.yml", key=f"{SECTION}: {key}", problem=problem, fix=fix
    )


def _obstacle(folder: Path) -> str:
    """Why no file can be made in a folder, which need not be there yet."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)
    finally:
        for place in missing:
            with contextlib.suppress(OSError):
                place.rmdir()
