"""Where remote agents report to this process, if the callback channel is mounted.

Set once by the channel when the server is put together, before any model is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sanic import Sanic

__all__ = ["Mount", "current_mount", "mount", "unmount"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """The mounted channel.

    Attributes:
        path: Path of the callback route on this server, without the task's key.
        app: The server application; holds the assistant under `ctx.agent`.
    """

    path: str
    app: Sanic[Any, Any]

    def address(self, base: str, key: str) -> str:
        """The address at which an agent reports about one task.

        Args:
            base: The agent's `push_notification_url`.
            key: Our name of the task.
        """
        return f"{base.rstrip('/')}{self.path}/{key}"


_mount: Mount | None = None


def mount(where: Mount) -> None:
    """Note that the channel is there."""
    global _mount  # noqa: PLW0603 - one server per process
    _mount = where


def unmount() -> None:
    """The server has stopped."""
    global _mount  # noqa: PLW0603 - one server per process
    _mount = None


def current_mount() -> Mount | None:
    """The channel, if it is mounted."""
    return _mount
