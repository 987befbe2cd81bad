"""The variables of the project's file `.env`, read as the host's commands do.

Must import nothing of the host that is slow.
"""

from __future__ import annotations

from pathlib import Path

from rasa.cli.project_env import load_project_dotenv, resolve_project_dir

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.explain.encoding import NO_UTF8, SAVE_AS_UTF8, line_of

__all__ = ["read_dot_env"]

_NAME = ".env"


def read_dot_env(folder: str | None = None) -> None:
    """Put them into the environment, where they are not set already.

    Args:
        folder: Folder of the project; without one, that of the host's variable or the working
            directory, with those above it.

    Raises:
        ConfigurationError: The file is not UTF-8.
    """
    try:
        load_project_dotenv(folder)
    except UnicodeDecodeError as error:
        start = resolve_project_dir(folder)
        places = (place / _NAME for place in (start, *start.parents))
        found = next(place for place in places if place.is_file())
        here = found.is_relative_to(Path.cwd())
        raise ConfigurationError(
            file=str(found.relative_to(Path.cwd()) if here else found),
            key=f"line {line_of(error)}",
            problem=NO_UTF8,
            fix=SAVE_AS_UTF8,
        ) from error
