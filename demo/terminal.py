"""The host's own server in this process, with the channels of the sample's terminal.

External agents report to it while the customer talks; whoever sits at the terminal can be
reached at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

from rasa.core.channels.channel import CollectingOutputChannel, InputChannel, UserMessage
from rasa.core.run import configure_app
from sanic import Blueprint, Sanic

from rasa_react_ext.assistant import LoadedAssistant, Project, loaded
from rasa_react_ext.channels import TaskUpdates

__all__ = ["Line", "Terminal", "at_terminal", "listening", "server_app"]

NAME = "terminal"


class Line(CollectingOutputChannel):
    """How the customer is answered; what is shown is read from the conversation."""

    @classmethod
    def name(cls) -> str:
        """Name of the channel."""
        return NAME


class Terminal(InputChannel):
    """Where the customer sits; has no routes."""

    @classmethod
    def name(cls) -> str:
        """Name of the channel."""
        return NAME

    def blueprint(self, on_new_message: Callable[[UserMessage], Awaitable[Any]]) -> Blueprint:
        """No routes."""
        return Blueprint(NAME)

    def get_output_channel(self) -> CollectingOutputChannel:
        """A line to the customer, also without a message to answer."""
        return Line()


@contextlib.asynccontextmanager
async def at_terminal(
    project: Project, archive: Path, port: int, seat: InputChannel
) -> AsyncGenerator[LoadedAssistant, None]:
    """Load the assistant and have its server listen while the block runs.

    Args:
        project: The project.
        archive: The trained model.
        port: Loopback port of the server.
        seat: The channel at which the customer sits.

    Raises:
        HostError: The host cannot load the model.
    """
    app = server_app(port, seat)
    async with loaded(project, archive) as assistant, listening(app, assistant.agent, port):
        yield assistant


def server_app(port: int, seat: InputChannel | None = None) -> Sanic[Any, Any]:
    """The host's server with the sample's channel for reports; made before a model is loaded.

    Args:
        port: Loopback port.
        seat: The channel at which the customer sits; by default one that collects answers.
    """
    channels = [TaskUpdates.from_credentials(None), seat or Terminal()]
    return configure_app(channels, enable_api=False, port=port)


@contextlib.asynccontextmanager
async def listening(app: Sanic[Any, Any], agent: Any, port: int) -> AsyncGenerator[None, None]:
    """Serve an assistant while the block runs.

    Args:
        app: The server.
        agent: The host's agent object.
        port: Loopback port.
    """
    app.ctx.agent = agent
    server = await app.create_server(
        host="127.0.0.1", port=port, return_asyncio_server=True, access_log=False
    )
    assert server is not None
    await server.startup()
    await server.before_start()
    await server.after_start()
    try:
        yield
    finally:
        await server.before_stop()
        await server.close()
        for connection in server.connections:
            connection.close()
        await server.after_stop()
