"""A conversation with one agent, kept as the host keeps it, whose model is as strict as wanted."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from rasa.core.channels import CollectingOutputChannel
from rasa.shared.core.events import ActionExecuted, BotUttered, UserUttered

from rasa_react_ext.testing import ModelServer, ScriptedModel
from tests.host.project import Project
from tests.host.turn import agent_at_work, agent_input, slot, take_turn

__all__ = ["BOTH", "Talk", "asking", "talking"]

BOTH = ["slots.size is not null", "slots.amount > 0"]
"""Exit conditions of a task with two slots."""


class Talk:
    """Says one thing after the other to an agent; the flow spoke before.

    Args:
        agent: The agent.
        exit_if: Its exit conditions; empty for an open agent.
    """

    def __init__(self, agent: Any, exit_if: Sequence[str] = ()) -> None:
        self._agent = agent
        self._exit_if = list(exit_if)
        self._events: list[Any] = [
            BotUttered("Welcome to the store."),
            UserUttered("Good morning."),
            ActionExecuted("action_listen"),
        ]
        self._metadata: dict[str, Any] = {}
        self._slots = {"size": slot("size"), "amount": slot("amount", type="float")}

    async def say(self, text: str, *, channel: Any = None, **how: Any) -> Any:
        """One turn; what came of it is kept for the next."""
        task: dict[str, Any] = {"exit_if": self._exit_if} if self._exit_if else {}
        given = agent_input(
            text,
            slots=[each.model_copy() for each in self._slots.values()],
            events=self._events,
            **{**self._metadata, **task},
        )
        channel = channel or CollectingOutputChannel()
        output = await take_turn(self._agent, given, output_channel=channel, **how)
        self._events += [UserUttered(text), *output.events]
        self._metadata = output.metadata or {}
        for event in output.events:
            if event.type_name == "slot" and event.key in self._slots:
                self._slots[event.key].value = event.value
        return output


def asking(project: Project, server: ModelServer, model: str, **configuration: Any) -> Project:
    """The project whose agent asks a model of this name at this server."""
    llm = {"provider": "openai", "model": model, "api_base": server.base_url, "timeout": 20}
    return project.with_agent(llm=llm, **configuration)


@contextlib.asynccontextmanager
async def talking(
    project: Project,
    profile: str,
    rules: Sequence[Any],
    *,
    exit_if: Sequence[str] = (),
    settings: Any = None,
    **configuration: Any,
) -> AsyncGenerator[tuple[Talk, ModelServer]]:
    """A conversation with an agent whose model refuses what a provider would.

    In the end, no request may have been refused or left without an answer.
    """
    name = "gemini-2.5-flash" if profile.startswith("gemini") else "gpt-4o"
    async with ScriptedModel(rules, profile=profile).serve() as server:
        ours = asking(project, server, name, **configuration)
        async with agent_at_work(ours, task=bool(exit_if), settings=settings) as agent:
            yield Talk(agent, exit_if), server
        assert [(each.refused_by, each.answer) for each in server.refused] == []
        assert [each.answer for each in server.unmatched] == []
