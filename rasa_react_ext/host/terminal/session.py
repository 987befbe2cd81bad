"""One conversation with a trained assistant, without the host's server."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rasa.cli.project_env import load_project_dotenv
from rasa.core.agent import Agent, load_agent
from rasa.core.channels.channel import UserMessage
from rasa.core.config.configuration import Configuration
from rasa.shared.agents.agent_setup import AgentsConnectionCleanup
from rasa.shared.core.constants import SLOTS_EXCLUDED_FOR_AGENT
from rasa.tracing.backend_tracing_config import configure_backend_tracing
from rasa.utils.log_utils import configure_structlog

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host import process
from rasa_react_ext.host.terminal.channel import TerminalChannel, ToolWatcher
from rasa_react_ext.host.terminal.view import View

__all__ = ["Session", "loaded_session"]

START = "/session_start"
_HOST_SLOTS = SLOTS_EXCLUDED_FOR_AGENT | {"language", "max_clarification_options"}


class Session:
    """A conversation; one message after the other.

    Attributes:
        sender_id: Name of the conversation.
    """

    def __init__(self, agent: Agent, view: View, sender_id: str) -> None:
        self.sender_id = sender_id
        self._agent = agent
        self._view = view
        self._slots: dict[str, Any] = {}

    async def begin(self) -> None:
        """Start the session, as a channel does when a user opens it."""
        await self.say(START)

    async def say(self, text: str) -> None:
        """Pass a message on and wait for the end of the turn; the view shows the rest."""
        channel = TerminalChannel(self._view)
        message = UserMessage(text, channel, self.sender_id, input_channel=channel.name())
        await self._agent.handle_message(message)
        for name, value in (await self.slots()).items():
            if self._slots.get(name) != value:
                self._view.slot(name, value)
        self._slots = await self.slots()

    async def slots(self) -> dict[str, Any]:
        """Slots that have a value, without the host's own."""
        tracker = await self._agent.tracker_store.retrieve(self.sender_id)
        if tracker is None:
            return {}
        return {
            name: value
            for name, value in tracker.current_slot_values().items()
            if value is not None and name not in _HOST_SLOTS
        }

    def cancel(self) -> bool:
        """Stop the turn that runs; tells whether there was one."""
        return bool(self._agent.cancel_background_tasks(self.sender_id))

    def trace_file(self) -> Path | None:
        """Where the record of this conversation is written, if that is switched on."""
        return process.current().trace_file(self.sender_id)


@asynccontextmanager
async def loaded_session(
    *, model: Path, endpoints: Path, sub_agents: Path, view: View, sender_id: str
) -> AsyncGenerator[Session]:
    """Load a trained assistant and hold its connections while the block runs.

    Args:
        model: Model archive, or a folder whose newest archive is taken.
        endpoints: The endpoints file.
        sub_agents: Folder of the sub agents.
        view: Shows the conversation.
        sender_id: Name of the conversation.

    Raises:
        ConfigurationError: There is no model, or the host cannot load it.
    """
    archive = _archive(model)
    load_project_dotenv()
    configure_structlog(logging.CRITICAL)
    Configuration.initialise_endpoints(endpoints)
    if endpoints.is_file():  # noqa: ASYNC240 - before anything else runs
        configure_backend_tracing(str(endpoints))
    if sub_agents.is_dir():  # noqa: ASYNC240 - before anything else runs
        Configuration.initialise_sub_agents(sub_agents)
    settings = Configuration.get_instance()
    shared = process.current()
    async with AgentsConnectionCleanup():
        agent = await load_agent(
            model_path=str(archive),
            endpoints=settings.endpoints,
            sub_agents=settings.available_agents,
        )
        if not agent.is_ready():
            raise _refusal(model, "the host could not load it.", "Train again with this host.")
        with shared.watched_by(lambda _: ToolWatcher(view)):
            yield Session(agent, view, sender_id)


def _archive(model: Path) -> Path:
    if model.is_file():
        return model
    archives = sorted(model.glob("*.tar.gz"), key=lambda file: file.stat().st_mtime)
    if not archives:
        raise _refusal(model, "there is no trained model here.", "Train the assistant first.")
    return archives[-1]


def _refusal(model: Path, problem: str, fix: str) -> ConfigurationError:
    return ConfigurationError(file=str(model), key="model", problem=problem, fix=fix)
