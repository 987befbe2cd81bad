"""Checks that what the deployment writes can be written; what that makes is removed again."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator
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
    database = Database(deployment.store.get_secret_value())
    if "store" in deployment.model_fields_set:
        with _left_as_it_was(Path(database.url.database or "").parent):
            database.check_place()


def check_traces(deployment: DeploymentSettings) -> None:
    """Refuse a folder of records that cannot be written.

    Raises:
        ConfigurationError: Names the folder.
    """
    if not deployment.trace_folder:
        return
    folder = Path(deployment.trace_folder)
    try:
        with _left_as_it_was(folder):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return
    except OSError as error:
        raise ConfigurationError(
            file="endpoints.yml",
            key=f"{SECTION}: trace_folder",
            problem=f"{str(folder)!r} cannot be written ({error.strerror or error}).",
            fix="Name a folder that can be written.",
        ) from error


@contextlib.contextmanager
def _left_as_it_was(folder: Path) -> Generator[None]:
    """Remove a folder, and those above it, that the block makes."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        yield
    finally:
        for place in missing:
            with contextlib.suppress(OSError):
                place.rmdir()
