"""One conversation with a trained assistant, without the host's server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rasa.agents.agent_manager import AgentManager
from rasa.core.agent import Agent, load_agent
from rasa.core.channels.channel import UserMessage
from rasa.core.config.configuration import Configuration
from rasa.shared.agents.agent_setup import AgentsConnectionCleanup
from rasa.tracing.backend_tracing_config import configure_backend_tracing
from rasa.tracing.metrics_config import configure_metrics
from rasa.utils.log_utils import configure_structlog

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host import process
from rasa_react_ext.host.agent import ReActAgent
from rasa_react_ext.host.chat import closing_clients
from rasa_react_ext.host.dot_env import read_dot_env
from rasa_react_ext.host.external.agent import ExternalAgent
from rasa_react_ext.host.observe.redaction import Redaction
from rasa_react_ext.host.reported import reported, reported_only
from rasa_react_ext.host.terminal.channel import Terminal, TerminalChannel, ToolWatcher
from rasa_react_ext.host.terminal.progress import shown_slots
from rasa_react_ext.host.terminal.refusal import Named, NotLoadedError, refusals_placed

if TYPE_CHECKING:
    from rasa.shared.core.trackers import DialogueStateTracker

    from rasa_react_ext.host.terminal.view import View

__all__ = ["Session", "configure", "conversing", "loaded_session"]

START = "/session_start"
_NO_POLICY = (
    "This model runs Rasa's own agents, whose tools are not shown: config.yml had no "
    "rasa_react_ext.policy.ReActPolicy when it was trained."
)
_OBSERVING = (("tracing", configure_backend_tracing), ("metrics", configure_metrics))
Errors = Callable[[], Iterable[str]]


class Session:
    """A conversation; one message after the other.

    Attributes:
        sender_id: Name of the conversation.
    """

    def __init__(
        self, agent: Agent, terminal: Terminal, sender_id: str, errors: Errors = tuple
    ) -> None:
        self.sender_id = sender_id
        self._agent = agent
        self._terminal = terminal
        self._errors = errors

    async def begin(self) -> None:
        """Start the session, as a channel does when a user opens it."""
        await self._pass_on(START, self._terminal.answering(""))

    async def say(self, text: str) -> None:
        """Pass a message on and wait for the end of the turn; the view shows the rest."""
        channel = self._terminal.answering(text)
        try:
            await self._pass_on(text, channel)
        finally:
            channel.begin()

    async def _pass_on(self, text: str, channel: TerminalChannel) -> None:
        message = UserMessage(text, channel, self.sender_id, input_channel=channel.name())
        await self._agent.handle_message(message)
        # A turn that was cancelled ends without telling its channel.
        tracker = None if channel.is_complete else await self._tracker()
        if tracker is not None:
            self._terminal.progress.tell(tracker)
        for error in self._errors():
            self._terminal.view.note(f"Rasa reports: {Redaction().text(error)}")

    async def slots(self) -> dict[str, Any]:
        """Slots that have a value, without the host's own and without secrets."""
        tracker = await self._tracker()
        return {} if tracker is None else shown_slots(tracker)

    def cancel(self) -> bool:
        """Stop the turn that runs; tells whether there was one."""
        return bool(self._agent.cancel_background_tasks(self.sender_id))

    def trace_file(self) -> Path | None:
        """Where the record of this conversation is written, if that is switched on."""
        return process.current().trace_file(self.sender_id)

    async def _tracker(self) -> DialogueStateTracker | None:
        return await self._agent.tracker_store.retrieve(self.sender_id)


@contextlib.asynccontextmanager
async def conversing(
    agent: Agent, terminal: Terminal, sender_id: str, errors: Errors = tuple
) -> AsyncGenerator[Session]:
    """Sit at a terminal while the block runs; first it is told what is not as it should be.

    Args:
        agent: A loaded assistant.
        terminal: Where the user sits.
        sender_id: Name of the conversation.
        errors: Gives what the host reported as errors since it was last asked.
    """
    if not _engine_runs():
        terminal.view.note(_NO_POLICY)
    for reason in await _missing():
        words = f"{reason.rstrip('.')}. Its tools are absent until it answers."
        terminal.view.note(f"MCP server {words}")
    with process.current().watched_by(lambda _: ToolWatcher(terminal.view)):
        yield Session(agent, terminal, sender_id, errors)


def _engine_runs() -> bool:
    """Whether an agent of this model is ours, or there is none at all."""
    agents = AgentManager().agents.values()
    return not agents or any(isinstance(agent, (ReActAgent, ExternalAgent)) for agent in agents)


async def _missing() -> list[str]:
    """Servers that cannot be reached, each with the reason; waits no longer than a turn would."""
    agents = [agent for agent in AgentManager().agents.values() if isinstance(agent, ReActAgent)]
    await asyncio.gather(*(agent.mcp_tools.tools() for agent in agents))
    return sorted({reason for agent in agents for reason in agent.mcp_tools.missing()})


@contextlib.asynccontextmanager
async def loaded_session(
    *, archive: Path, endpoints: Path, sub_agents: Path, view: View, sender_id: str
) -> AsyncGenerator[Session]:
    """Load a trained assistant and hold its connections while the block runs.

    Args:
        archive: The model archive.
        endpoints: The endpoints file.
        sub_agents: Folder of the sub agents.
        view: Shows the conversation.
        sender_id: Name of the conversation.

    Raises:
        ConfigurationError: The host cannot load the model, or refuses one of the files.
        PeerError: Something that the host needs cannot be reached.
        HostError: The host has given up.
    """
    read_dot_env()
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(reported_only())
        configure_structlog(logging.ERROR, additional_processors=[reported])
        await stack.enter_async_context(closing_clients())
        await stack.enter_async_context(AgentsConnectionCleanup())
        with refusals_placed(named := Named(endpoints=endpoints, sub_agents=sub_agents)):
            configure(named)
            settings = Configuration.get_instance()
            agent = await load_agent(
                model_path=str(archive),
                endpoints=settings.endpoints,
                sub_agents=settings.available_agents,
            )
            if not agent.is_ready():
                raise NotLoadedError(str(archive))
        async with conversing(agent, Terminal(view), sender_id, reported.take) as session:
            yield session


def configure(named: Named) -> None:
    """Let the host read the files, and send what it observes where they say.

    Args:
        named: The files.
    """
    Configuration.initialise_endpoints(named.endpoints)
    if named.sub_agents.is_dir():
        Configuration.initialise_sub_agents(named.sub_agents)
    for section, observe in _OBSERVING if named.endpoints.is_file() else ():
        try:
            observe(str(named.endpoints))
        except KeyError as error:
            raise ConfigurationError(
                file=str(named.endpoints),
                key=f"{section}: {error.args[0]}",
                problem="this key is missing.",
                fix="Write it.",
            ) from error
