"""The sample assistant, trained and loaded through the host's Python API.

Owns nothing of the conversation's meaning: it trains, loads, passes on what the user says and
returns what the host recorded. The host is imported at first use, since that takes seconds.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from demo.failure import DemoError
from rasa_react_ext.errors import ExtensionError

__all__ = ["Assistant", "HostLog", "import_host", "loaded", "train"]

CONFIG = Path("config.yml")
DOMAIN = "domain.yml"
FLOWS = ["flows"]


class HostLog:
    """What the host reported as an error since it was imported, in its own words."""

    def __init__(self) -> None:
        self._errors: list[str] = []

    def __call__(self, _logger: object, method: str, event: dict[str, Any]) -> dict[str, Any]:
        """Remember an error on its way to the terminal; a processor of structlog."""
        if method in ("error", "critical", "exception"):
            words = event.get("event_info") or event.get("error") or event.get("event")
            self._errors.append(_one_line(str(words)))
        return event

    def take(self) -> list[str]:
        """Return the errors since the last call, oldest first."""
        errors, self._errors = self._errors, []
        return errors


class Assistant:
    """One conversation with a loaded assistant.

    Args:
        agent: The host's agent object.
        log: What the host reports as errors.
        sender_id: Name of the conversation.
    """

    def __init__(self, agent: Any, log: HostLog, sender_id: str = "customer") -> None:
        self.log = log
        self._agent = agent
        self._sender_id = sender_id
        self._seen = 0

    async def begin(self) -> list[dict[str, Any]]:
        """Start the session, as a channel does when a user opens it."""
        return await self.say("/session_start")

    async def say(self, text: str) -> list[dict[str, Any]]:
        """Pass a message on and wait for the end of the turn.

        Args:
            text: What the user says.

        Returns:
            The events that the host recorded since the last call, as its dictionaries.

        Raises:
            DemoError: If the host gives the turn up.
        """
        try:
            await self._agent.handle_text(text, sender_id=self._sender_id)
        except Exception as fault:
            raise DemoError(f"After {text!r} Rasa gave up: {_reason(fault)}") from fault
        tracker = await self._agent.tracker_store.retrieve(self._sender_id)
        events = [] if tracker is None else list(tracker.events)
        news, self._seen = events[self._seen :], len(events)
        return [event.as_dict() for event in news]


def import_host(log_level: int) -> HostLog:
    """Import the host and set how much it logs.

    Args:
        log_level: One of the numbers of the `logging` module.

    Returns:
        What it will report as errors.

    Raises:
        DemoError: If the host is not installed.
    """
    try:
        importlib.import_module("rasa.core.agent")
        importlib.import_module("rasa.model_training")
        logging = importlib.import_module("rasa.utils.log_utils")
    except ImportError as missing:
        raise DemoError(f"Rasa cannot be imported ({missing}). Run: make setup") from missing
    log = HostLog()
    logging.configure_structlog(log_level, additional_processors=[log])
    return log


async def train(output: Path, log: HostLog, *, config: Path = CONFIG) -> Path:
    """Check and train the project in the working directory.

    Args:
        output: Folder for the model archive.
        log: What the host reports, for the words of a refusal.
        config: The assistant's configuration file.

    Returns:
        Path of the archive.

    Raises:
        DemoError: If the host refuses the project.
    """
    try:
        archive = await _checked_and_trained(output, config)
    except (Exception, SystemExit) as refusal:
        raise DemoError(f"The assistant cannot be trained: {_reason(refusal)}") from refusal
    if archive is None:
        reported = " ".join(log.take()[:1]) or "--verbose shows what Rasa says."
        raise DemoError(f"The assistant cannot be trained: {reported}")
    return archive


async def _checked_and_trained(output: Path, config: Path) -> Path | None:
    """Training alone accepts a step that names nothing, so the host's validator looks first."""
    from rasa.core.config.configuration import Configuration
    from rasa.model_training import train as train_model
    from rasa.shared.importers.importer import TrainingDataImporter
    from rasa.validator import Validator

    Configuration.initialise_endpoints(Path("endpoints.yml"))
    Configuration.initialise_sub_agents(Path("sub_agents"))
    project = TrainingDataImporter.load_from_config(str(config), DOMAIN, FLOWS)
    validator = Validator.from_importer(project)
    if not (validator.verify_domain_validity() and validator.verify_flows()):
        return None
    result = await train_model(
        domain=DOMAIN,
        config=str(config),
        training_files=FLOWS,
        endpoints="endpoints.yml",
        output=str(output),
        fixed_model_name="wealth-desk",
    )
    return None if result.model is None or result.code else Path(result.model)


@contextlib.asynccontextmanager
async def loaded(model: Path, log: HostLog) -> AsyncGenerator[Assistant, None]:
    """Load a trained model and hold its connections while the block runs.

    Args:
        model: Path of the archive that `train` returned.
        log: What the host reports, passed on to the assistant.

    Raises:
        DemoError: If the host cannot load it.
    """
    from rasa.core.agent import load_agent
    from rasa.core.config.configuration import Configuration
    from rasa.shared.agents.agent_setup import AgentsConnectionCleanup

    settings = Configuration.get_instance()
    async with AgentsConnectionCleanup():
        try:
            agent = await load_agent(
                model_path=str(model),
                endpoints=settings.endpoints,
                sub_agents=settings.available_agents,
            )
        except Exception as refusal:
            raise DemoError(f"The assistant cannot be loaded: {_reason(refusal)}") from refusal
        if not agent.is_ready():
            raise DemoError("The assistant cannot be loaded. --verbose shows what the host says.")
        yield Assistant(agent, log)


def _reason(error: BaseException) -> str:
    """Return what is behind an error, on one line; the host's graph hides the cause in another."""
    while error.__cause__ is not None and type(error).__name__ == "GraphComponentException":
        error = error.__cause__
    words = _one_line(str(error))
    return words if isinstance(error, ExtensionError) else f"{type(error).__name__}: {words}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:400]
