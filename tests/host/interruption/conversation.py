"""A shop whose conversations are interrupted, and a user who speaks in the host's commands."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from rasa_react_ext.testing import ModelServer
from tests.host.project import COMMANDS, Project, loaded

__all__ = ["QUESTION", "RULES", "Talk", "talking"]

FLOWS = """
flows:
  shop:
    description: The customer wants to look for something in the shop.
    steps:
      - call: clerk
      - action: utter_bye
  gift:
    description: The customer wants to have a gift wrapped.
    steps:
      - call: clerk
      - action: utter_bye
  hours:
    description: The customer asks when the shop is open.
    steps:
      - action: utter_hours
  delivery:
    description: The customer wants something delivered.
    steps:
      - collect: desk
        description: Where to.
      - call: clerk
      - action: utter_bye
  resize:
    description: The customer says what size is needed.
    steps:
      - collect: size
        description: The size.
        ask_before_filling: true
      - action: utter_hours
  tailor:
    description: The customer wants something made.
    steps:
      - call: clerk
        exit_if:
          - slots.size is not null
          - slots.amount > 0
      - collect: express
        description: Whether it is urgent.
      - action: utter_filled
"""
DOMAIN = """
version: "3.1"
slots:
  size:
    type: text
    mappings: [{type: from_llm}]
  amount:
    type: float
    mappings: [{type: from_llm}]
  express:
    type: bool
    mappings: [{type: from_llm}]
  desk:
    type: text
    mappings: [{type: from_llm}]
responses:
  utter_bye: [{text: Come again.}]
  utter_hours: [{text: We are open all day.}]
  utter_ask_size: [{text: "Which size?"}]
  utter_ask_desk: [{text: "Which desk?"}]
  utter_ask_express: [{text: "Is it urgent?"}]
  utter_filled: [{text: "Made: {size}, {amount}."}]
"""
DO = {"when": {"model": "commands", "user": '/last message: """do (?P<line>[^"]+)/'}}

QUESTION = "The lamp is yours. Shall I wrap it?"
AGENTS = {"model": "agents"}
RULES: tuple[Mapping[str, Any], ...] = (
    {
        "when": {**AGENTS, "user": "reserve it", "last": "user"},
        "answer": {"calls": [{"name": "reserve", "arguments": {"item": "lamp"}}]},
    },
    {"when": {**AGENTS, "tool": "reserve"}, "answer": QUESTION},
    {
        "when": {**AGENTS, "user": "that is all", "last": "user"},
        "answer": {"text": "Good day.", "calls": [{"name": "task_completed"}]},
    },
    {
        "when": {**AGENTS, "user": "large", "last": "user"},
        "answer": {"calls": [{"name": "set_slot_size", "arguments": {"slot_value": "L"}}]},
    },
    {
        "when": {**AGENTS, "user": "twelve", "last": "user"},
        "answer": {"calls": [{"name": "set_slot_amount", "arguments": {"slot_value": 12}}]},
    },
    {"when": AGENTS, "answer": "What else?"},
)


@dataclass(frozen=True, kw_only=True)
class Talk:
    """A conversation with the shop's assistant.

    Attributes:
        agent: The host's agent.
        model: The scripted model.
    """

    agent: Any
    model: ModelServer

    async def say(self, *texts: str) -> list[str]:
        """Say these one after the other; the answer to the last."""
        said: list[str] = []
        for text in texts:
            messages = await self.agent.handle_text(text, sender_id="anna")
            said = [message["text"] for message in messages]
        return said

    async def do(self, command: str) -> list[str]:
        """Say something that the command generator reads as this command."""
        return await self.say(f"do {command}")

    async def events(self, *kinds: str) -> list[Any]:
        """Events of these types."""
        tracker = await self.agent.tracker_store.retrieve("anna")
        return [event for event in tracker.events if event.type_name in kinds]

    async def slot(self, name: str) -> Any:
        """Value of a slot."""
        tracker = await self.agent.tracker_store.retrieve("anna")
        return tracker.get_slot(name)

    async def new_session(self) -> None:
        """Begin a new session, as the host does when the last message is long ago."""
        from rasa.shared.core.events import ActionExecuted, SessionStarted

        tracker = await self.agent.tracker_store.retrieve("anna")
        beginning = ActionExecuted("action_session_start"), SessionStarted()
        for event in (*beginning, ActionExecuted("action_listen")):
            tracker.update(event)
        await self.agent.tracker_store.save(tracker)

    async def frame(self) -> dict[str, Any]:
        """Metadata the host keeps for the waiting agent."""
        from rasa.dialogue_understanding.stack.frames.flow_stack_frame import AgentStackFrame

        tracker = await self.agent.tracker_store.retrieve("anna")
        frames = [f for f in tracker.stack.frames if isinstance(f, AgentStackFrame)]
        return dict(frames[-1].metadata or {})

    def asked(self) -> list[dict[str, Any]]:
        """Messages of the newest request to the agent's model."""
        requests = [r.body for r in self.model.requests if r.body and r.body["model"] == "agents"]
        return list(requests[-1]["messages"])

    def heard(self) -> list[str]:
        """Tool results in that request."""
        return [message["content"] for message in self.asked() if message["role"] == "tool"]


@contextlib.asynccontextmanager
async def talking(
    project: Project, model: ModelServer, *rules: Mapping[str, Any]
) -> AsyncIterator[Talk]:
    """A conversation while the block runs; these rules of the agent's model come first."""
    model.use([{**DO, "answer": "{{ line }}"}, *COMMANDS, *rules, *RULES])
    async with loaded(project.having(flows=FLOWS, domain=DOMAIN)) as agent:
        yield Talk(agent=agent, model=model)
