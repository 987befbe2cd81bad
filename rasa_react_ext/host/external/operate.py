"""Ends tasks of external agents from outside of the assistant: no server, no model is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

# The host's modules import each other; this one must come first.
import rasa.core.agent  # noqa: F401 # pyright: ignore[reportUnusedImport]
from rasa.agents.core.types import ProtocolType
from rasa.core.available_agents import ProtocolConfig
from rasa.core.config.configuration import Configuration

from rasa_react_ext.a2a_client import is_address
from rasa_react_ext.a2a_wire import failed_task, task_body
from rasa_react_ext.errors import ConfigurationError, HostError, PeerError
from rasa_react_ext.host.binding import settings_from
from rasa_react_ext.host.dot_env import read_dot_env
from rasa_react_ext.host.external.build import build_external_agents
from rasa_react_ext.host.inspection.source import read_source
from rasa_react_ext.host.inspection.written import policy_keys
from rasa_react_ext.host.terminal.refusal import Named, refusals_placed
from rasa_react_ext.store import RemoteTasks

if TYPE_CHECKING:
    from rasa_react_ext.host.external.agent import ExternalAgent
    from rasa_react_ext.store import Database, RemoteTask

__all__ = ["cancel_at_agent", "end_remote_task"]

REASON = "The task was cancelled by an operator."


async def cancel_at_agent(name: str, task_id: str) -> None:
    """Cancel a task at its agent, as the project in the working directory defines it.

    Args:
        name: Name of the sub agent.
        task_id: The agent's name of the task.

    Raises:
        ConfigurationError: The project has no such agent, or one of its files is wrong.
        HostError: The host has given up without a reason.
        PeerError: The agent could not be told; the task may go on.
    """
    agent = _agent(name)
    try:
        if not is_address(agent.connection.spec.card):
            await agent.connection.card(attempts=1)
        if not await agent.connection.cancel(task_id):
            raise PeerError(
                name,
                f"Agent {name!r} could not be told to stop task {task_id!r}, which stays open. "
                "Try again, or close it here with --force.",
            )
    finally:
        await agent.connection.aclose()


async def end_remote_task(database: Database, row: RemoteTask) -> None:
    """Close a task that was cancelled; a conversation that waits for it hears so.

    A task in the background has a report of its end put into the inbox: it stays open until
    a server has let the conversation go on.
    """
    tasks = RemoteTasks(database)
    if row.background and not row.parked:
        await tasks.say(row.key, task_body(failed_task(row.task_id, row.context_id, REASON)))
    else:
        await tasks.close(row.key)


def _agent(name: str) -> ExternalAgent:
    read_dot_env()
    endpoints, sub_agents = Path("endpoints.yml"), Path("sub_agents")
    named = Named(endpoints=endpoints, sub_agents=sub_agents)
    _read(named)
    with refusals_placed(named):
        configuration = Configuration.get_instance()
        config = configuration.available_agents.agents.get(name)
        if config is None or config.agent.protocol is not ProtocolConfig.A2A:
            raise ConfigurationError(
                file="sub_agents",
                key=name,
                problem="the project in this folder has no external agent of this name.",
                fix="Run this in the project's folder, or close the task here with --force.",
            )
        settings = settings_from(policy_keys(read_source(Path("config.yml"))))
        built = build_external_agents({name: config}, configuration.endpoints, settings)
    return built[name, ProtocolType.A2A]


def _read(named: Named) -> None:
    """Let the host read the files; for a wrong kind of value it has no error of its own."""
    try:
        with refusals_placed(named):
            Configuration.initialise_empty()
            Configuration.initialise_endpoints(named.endpoints)
            if named.sub_agents.is_dir():
                Configuration.initialise_sub_agents(named.sub_agents)
    except (TypeError, AttributeError, KeyError) as error:
        raise HostError(
            f"Rasa cannot read the project in this folder: {' '.join(str(error).split())}. "
            "`rasa-react check` says more."
        ) from error
