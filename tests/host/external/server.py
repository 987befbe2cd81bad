"""The assistant behind the host's own server, in the test's event loop, with a phone line.

The phone is a channel that can always reach its users; a message that comes by another
channel cannot be answered later.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rasa.core.channels.channel import CollectingOutputChannel, InputChannel, UserMessage
from rasa.core.run import configure_app
from sanic import Blueprint, Sanic

from demo.terminal import listening
from rasa_react_ext.channels import TaskUpdates
from tests.host.project import Project, hosts_own_warnings, loaded

__all__ = ["Phone", "Server", "free_port", "served"]


class Phone(InputChannel):
    """Reaches its users at any time."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    @classmethod
    def name(cls) -> str:
        """Name of the channel."""
        return "phone"

    def blueprint(self, on_new_message: Any) -> Blueprint:
        """No routes."""
        return Blueprint("phone")

    def get_output_channel(self) -> CollectingOutputChannel:
        """A line to a user."""
        return Line(self)

    def to(self, sender: str) -> list[str]:
        """What a user heard since this was last asked."""
        heard = [text for recipient, text in self.said if recipient == sender]
        self.said = [entry for entry in self.said if entry[0] != sender]
        return heard


class Line(CollectingOutputChannel):
    """Notes what is said on the phone."""

    def __init__(self, phone: Phone) -> None:
        super().__init__()
        self._phone = phone

    @classmethod
    def name(cls) -> str:
        """Name of the channel."""
        return "phone"

    async def send_text_message(self, recipient_id: str, text: str, **kwargs: Any) -> None:
        """Say."""
        self._phone.said.append((recipient_id, text))
        await super().send_text_message(recipient_id, text, **kwargs)


@dataclass
class Server:
    """A running server.

    Attributes:
        agent: The host's agent.
        phone: The channel that reaches users.
        url: Base address.
    """

    agent: Any
    phone: Phone
    url: str
    app: Any
    credentials: Mapping[str, Any] = field(default_factory=dict)

    async def says(self, text: str, sender: str = "anna", *, by: str = "phone") -> list[str]:
        """What the user hears in answer."""
        line = Line(self.phone) if by == "phone" else CollectingOutputChannel()
        message = UserMessage(text, line, sender, input_channel=by)
        await self.agent.handle_message(message)
        if by == "phone":
            return self.phone.to(sender)
        return [message["text"] for message in line.messages]

    async def tracker(self, sender: str = "anna") -> Any:
        """The conversation."""
        return await self.agent.tracker_store.retrieve(sender)


@contextlib.asynccontextmanager
async def served(
    project: Project, port: int, *, enable_api: bool = False, **credentials: Any
) -> AsyncIterator[Server]:
    """The project's assistant behind a server with the callback channel.

    Args:
        project: The project.
        port: Where to listen.
        enable_api: Whether the host's own routes are there, too.
        credentials: The channel's entry in credentials.yml.
    """
    Sanic.test_mode = True
    phone = Phone()
    with hosts_own_warnings():
        app = configure_app(
            [TaskUpdates.from_credentials(credentials), phone], enable_api=enable_api, port=port
        )
    async with loaded(project) as agent, listening(app, agent, port):
        yield Server(agent=agent, phone=phone, url=f"http://127.0.0.1:{port}", app=app)


def free_port() -> int:
    """A loopback port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
