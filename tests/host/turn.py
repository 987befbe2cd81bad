"""One agent without a conversation around it: built from a project, run for one turn."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from rasa_react_ext.host import process
from rasa_react_ext.host.build import build_agents
from rasa_react_ext.host.settings import read_settings
from tests.host.project import Project

__all__ = ["agent_at_work", "agent_input", "slot", "take_turn"]


@contextlib.asynccontextmanager
async def agent_at_work(
    project: Project, *, task: bool = False, settings: Mapping[str, Any] | None = None
) -> AsyncIterator[Any]:
    """The project's agent `clerk`, disconnected in the end.

    Args:
        project: Its files are written and read anew.
        task: Whether it is the instance for steps with `exit_if`.
        settings: Keys of the `ReActPolicy` entry.
    """
    from rasa.agents.core.types import ProtocolType

    configuration = project.open()
    section = {"store": str(project.folder / "store.db"), **project.section}
    wanted = read_settings(settings or {}, section)
    process.current().configure(wanted)
    agents = build_agents(configuration.available_agents.agents, configuration.endpoints, wanted)
    agent = agents["clerk", ProtocolType.MCP_TASK if task else ProtocolType.MCP_OPEN]
    try:
        yield agent
    finally:
        for other in agents.values():
            await other.disconnect()


def slot(name: str, value: Any = None, type: str = "text", **more: Any) -> Any:
    """A slot as the host hands it to an agent."""
    from rasa.agents.schemas.agent_input import AgentInputSlot

    return AgentInputSlot(name=name, value=value, type=type, **more)


def agent_input(
    text: str = "hello",
    *,
    slots: Sequence[Any] = (),
    events: Sequence[Any] = (),
    history: str = "",
    **metadata: Any,
) -> Any:
    """What the host hands to `clerk` for a user's message.

    Args:
        text: The message.
        slots: Made by `slot`.
        events: Events before the message.
        history: The transcript the host still passes.
        metadata: Keys of the input's metadata, e.g. `exit_if`.
    """
    from rasa.agents.schemas import AgentInput
    from rasa.shared.core.events import UserUttered

    return AgentInput(
        id="clerk",
        user_message=text,
        slots=list(slots),
        conversation_history=history,
        events=[*events, UserUttered(text)],
        metadata={"sender_id": "anna", **metadata},
        timestamp=None,
        recipient_id="anna",
    )


async def take_turn(agent: Any, given: Any, **how: Any) -> Any:
    """Run the agent as the host's manager does: the input hook first."""
    return await agent.run(await agent.process_input(given), **how)
