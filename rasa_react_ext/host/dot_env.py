"""The variables of the project's file `.env`, for commands that otherwise do without the host.

Must import nothing of the host that is slow.
"""

from __future__ import annotations

from rasa.cli.project_env import load_project_dotenv

__all__ = ["read_dot_env"]


def read_dot_env() -> None:
    """Put them into the environment, where they are not set already, as the host's commands do."""
    load_project_dotenv()
