"""Short words for tests with an external agent."""

from __future__ import annotations

from typing import Any

from tests.a2a_client.remote import Remote
from tests.host import project as plain
from tests.host.project import Project

__all__ = ["COMMANDS", "DOMAIN", "FLOWS", "external", "says", "texts"]

FLOWS = """
flows:
  trade:
    description: The customer wants to trade.
    steps:
      - call: broker
      - action: utter_bye
  pattern_completed:
    description: Says nothing when all flows are done.
    steps:
      - noop: true
        next: END
  other:
    description: The customer wants something else.
    steps:
      - action: utter_booked
  survey:
    description: The customer wants to give an opinion.
    steps:
      - collect: size
        utter: utter_ask_size
"""


def _command(word: str, commands: str) -> dict[str, Any]:
    user = f'/last message: """{word}/'
    return {"when": {"model": "commands", "user": user}, "answer": commands}


DOMAIN = f"{plain.DOMAIN.rstrip()}\n  utter_ask_size: [{{text: How was it?}}]\n"


COMMANDS = (
    _command("cancel", "cancel flow"),
    _command("fine", "set slot size fine"),
    _command("yes", "set slot continue_interrupted_flow_confirmation true"),
    *plain.COMMANDS,
)
"""Model rules for the host's command generator."""


def external(project: Project, broker: Remote, **configuration: Any) -> Project:
    """The project with the agent `broker` at a remote."""
    agent = {
        "agent": {"name": "broker", "protocol": "A2A", "description": "Trades for the customer."},
        "configuration": {
            "agent_card": broker.card_url,
            "timeout": 10,
            "polling_initial_delay": 0.05,
            **configuration,
        },
    }
    return project.having(agents={"broker": agent}, flows=FLOWS, domain=DOMAIN)


async def says(agent: Any, text: str, sender: str = "anna") -> list[str]:
    """What the assistant answers."""
    return [message["text"] for message in await agent.handle_text(text, sender_id=sender)]


def texts(remote: Remote) -> list[str]:
    """First parts of the messages that were sent to the remote."""
    return [message["parts"][0]["text"] for message in remote.sent]
