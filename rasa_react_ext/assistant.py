"""A project's assistant in this process, through the host's Python API: train, load, talk.

For tests and tools; the host's own server runs an assistant in production. The host is
imported at first use, since that takes seconds, and keeps its settings per process: one
project at a time.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import sys
import warnings
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rasa_react_ext.compatibility import check_host
from rasa_react_ext.errors import ConfigurationError, ExtensionError, HostError
from rasa_react_ext.host.reported import one_line, reported

if TYPE_CHECKING:
    from rasa.core.channels import OutputChannel

__all__ = ["Conversation", "LoadedAssistant", "Project", "loaded", "train"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """Where the files of a Rasa project are.

    Attributes:
        folder: The project's folder; the host runs in it.
        config: Configuration of the assistant.
        domain: A file or folder with the domain.
        data: Files or folders with flows and other training data; none means the folder
            `flows` where there is one, else `data`.
        endpoints: The endpoints; may lie anywhere.
        sub_agents: Folder with the sub agents.
    """

    folder: Path
    config: str = "config.yml"
    domain: str = "domain.yml"
    data: tuple[str, ...] = ()
    endpoints: str = "endpoints.yml"
    sub_agents: str = "sub_agents"

    @property
    def training_files(self) -> list[str]:
        """What `data` says or means."""
        usual = "flows" if (self.folder / "flows").is_dir() else "data"
        return list(self.data or (usual,))

    def check(self) -> None:
        """Refuse a project whose files are not there.

        Raises:
            ConfigurationError: Names the file.
        """
        for key in ("config", "domain", "endpoints"):
            if not (self.folder / getattr(self, key)).exists():
                raise ConfigurationError(
                    file=str(self.folder / getattr(self, key)),
                    key=key,
                    problem="there is no such file.",
                    fix="Check the folder of the project and the names of its files.",
                )


class LoadedAssistant:
    """A loaded assistant; made by `loaded()`.

    Attributes:
        agent: The host's agent object.
    """

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    def conversation(self, sender_id: str, channel: OutputChannel | None = None) -> Conversation:
        """A conversation; one that the tracker store knows goes on.

        Args:
            sender_id: Name of the conversation.
            channel: The host's output channel by which the user is answered.
        """
        return Conversation(self.agent, sender_id, channel)

    def take_errors(self) -> list[str]:
        """What the host logged as errors in this process since this was last asked."""
        return reported.take()


class Conversation:
    """One conversation with a loaded assistant.

    Args:
        agent: The host's agent object.
        sender_id: Name of the conversation.
        channel: The host's output channel by which the user is answered.
    """

    def __init__(self, agent: Any, sender_id: str, channel: OutputChannel | None = None) -> None:
        self._agent = agent
        self._sender_id = sender_id
        self._channel = channel
        self._seen = 0

    async def say(self, text: str) -> list[dict[str, Any]]:
        """Pass a message on and wait for the end of the turn.

        Args:
            text: What the user says; `/session_start` begins the session, as channels do.

        Returns:
            The events recorded since the last call, as the host's dictionaries.

        Raises:
            HostError: The host gives the turn up.
        """
        from rasa.core.channels import UserMessage

        channel = self._channel
        by = None if channel is None else channel.name()
        try:
            await self._agent.handle_message(
                UserMessage(text, channel, self._sender_id, input_channel=by)
            )
        except Exception as fault:
            raise HostError(f"After {text!r} Rasa gave up: {_reason(fault)}") from fault
        return await self.news()

    async def news(self) -> list[dict[str, Any]]:
        """The events recorded since the last call; agents in the background add to them."""
        tracker = await self._tracker()
        events = [] if tracker is None else list(tracker.events)
        # A restarted conversation begins with an empty list.
        seen, self._seen = self._seen if self._seen <= len(events) else 0, len(events)
        return [event.as_dict() for event in events[seen:]]

    async def slots(self) -> dict[str, Any]:
        """The values of all slots."""
        tracker = await self._tracker()
        return {} if tracker is None else dict(tracker.current_slot_values())

    async def _tracker(self) -> Any:
        return await self._agent.tracker_store.retrieve(self._sender_id)


async def train(project: Project, output: Path | str) -> Path:
    """Train a project.

    Args:
        project: The project.
        output: Folder for the model archive, which the host names by the time.

    Returns:
        The archive.

    Raises:
        ConfigurationError: A file of the project is missing.
        HostError: The host is not the tested one, or refuses the project.
    """
    project.check()
    _import_host()
    from rasa.model_training import train as train_model

    folder = _absolute(output)
    with _standing_in(project):
        _read_settings(project)
        reported.take()
        try:
            valid = _is_valid(project)
            result = (
                await train_model(
                    domain=project.domain,
                    config=project.config,
                    training_files=project.training_files,
                    endpoints=project.endpoints,
                    output=folder,
                )
                if valid
                else None
            )
        except (Exception, SystemExit) as refusal:
            raise HostError(f"The assistant cannot be trained: {_reason(refusal)}") from refusal
    if result is None or result.model is None or result.code:
        said = next(iter(reported.take()), "`rasa train` says why.")
        raise HostError(f"The assistant cannot be trained: {said}")
    return Path(result.model)


def _is_valid(project: Project) -> bool:
    """Training accepts a step that names nothing, so the host's validator looks first."""
    from rasa.shared.importers.importer import TrainingDataImporter
    from rasa.validator import Validator

    validator = Validator.from_importer(
        TrainingDataImporter.load_from_config(
            project.config, project.domain, project.training_files
        )
    )
    return bool(validator.verify_domain_validity() and validator.verify_flows())


@contextlib.asynccontextmanager
async def loaded(project: Project, archive: Path | str) -> AsyncGenerator[LoadedAssistant]:
    """Load a trained model and hold its connections while the block runs.

    Args:
        project: The project it was trained from.
        archive: The model archive.

    Raises:
        ConfigurationError: A file of the project is missing.
        HostError: The host is not the tested one, or cannot load the model.
    """
    project.check()
    _import_host()
    from rasa.agents.agent_manager import AgentManager
    from rasa.core.agent import load_agent
    from rasa.shared.agents.agent_setup import AgentsConnectionCleanup

    from rasa_react_ext.host.chat import closing_clients

    with _standing_in(project):
        settings = _read_settings(project)
        AgentManager().agents.clear()
        async with closing_clients(), AgentsConnectionCleanup():
            try:
                agent = await load_agent(
                    model_path=str(archive),
                    endpoints=settings.endpoints,
                    sub_agents=settings.available_agents,
                )
            except Exception as refusal:
                raise HostError(f"The assistant cannot be loaded: {_reason(refusal)}") from refusal
            if not agent.is_ready():
                raise HostError("The assistant cannot be loaded. `rasa run` says why.")
            yield LoadedAssistant(agent)
        AgentManager().agents.clear()


def _import_host() -> None:
    """Import the tested host, and let it log no more than warnings."""
    check_host()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("rasa.core.agent")
        importlib.import_module("rasa.model_training")
        from rasa.utils.log_utils import configure_structlog
    configure_structlog(logging.WARNING, additional_processors=[reported])
    logging.getLogger("rasa").addHandler(reported)


@contextlib.contextmanager
def _standing_in(project: Project) -> Generator[None]:
    """Run in the project's folder, where its Python modules are found, as the host's CLI does.

    The host's warnings about its own code stay out.
    """
    folder = str(project.folder.resolve())
    known = folder in sys.path
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not known:
            sys.path.insert(0, folder)
        try:
            yield
        finally:
            if not known:
                sys.path.remove(folder)


def _read_settings(project: Project) -> Any:
    """Endpoints and sub agents, with variables from the environment and the project's `.env`."""
    from rasa.core.config.configuration import Configuration

    from rasa_react_ext.host.dot_env import read_dot_env

    read_dot_env(str(project.folder.resolve()))
    try:
        Configuration.initialise_endpoints(Path(project.endpoints))
        Configuration.initialise_sub_agents(Path(project.sub_agents))
    except Exception as refusal:
        raise HostError(f"The project's settings cannot be read: {_reason(refusal)}") from refusal
    return Configuration.get_instance()


def _absolute(path: Path | str) -> str:
    return str(Path(path).absolute())


def _reason(error: BaseException) -> str:
    """What is behind an error, on one line; the host's graph hides the cause in another."""
    while error.__cause__ is not None and type(error).__name__ == "GraphComponentException":
        error = error.__cause__
    words = one_line(str(error))
    if isinstance(error, ExtensionError):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
