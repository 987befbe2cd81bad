"""Plays two messages that meet at the conversation's lock; prints how long each took.

A process of its own, since the host reads TICKET_LOCK_LIFETIME when it is imported:
`python -m tests.host.interruption.locked`.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from rasa_react_ext.testing import ModelServer, ScriptedModel
from tests.host.project import COMMANDS, DOMAIN, Project, loaded

FLOWS = """
flows:
  slow:
    description: Something that takes a while.
    steps:
      - call: clerk
  both:
    description: Something for two agents.
    steps:
      - call: clerk
      - call: helper
      - action: utter_bye
"""
CLERK = {"model": "agents", "tools": ["nap"]}
HELPER = {"model": "agents", "tools": ["doze"]}


def _nap(seconds: float) -> dict[str, Any]:
    return {"calls": [{"name": "nap", "arguments": {"seconds": seconds}}]}


RULES: tuple[dict[str, Any], ...] = (
    {"when": {**CLERK, "last": "user", "user": "start slow"}, "answer": _nap(2)},
    {"when": {**CLERK, "last": "user", "user": "start both"}, "answer": _nap(0.5)},
    {
        "when": {**CLERK, "tool": "nap"},
        "answer": {"text": "I have rested.", "calls": [{"name": "task_completed"}]},
    },
    {"when": {**HELPER, "tool_choice": "none"}, "answer": "It takes longer. Shall I go on?"},
    {
        "when": {**HELPER, "last": "user"},
        "answer": {"calls": [{"name": "doze", "arguments": {"seconds": 60}}]},
    },
    {"when": HELPER, "answer": "I have slept."},
)


async def play(project: Project) -> dict[str, Any]:
    """Say both at once, after a conversation that warms everything up."""
    async with loaded(project) as agent:
        await agent.handle_text("start slow", sender_id="warm")
        first, second = await asyncio.gather(_say(agent, "start slow"), _say(agent, "start both"))
        tracker = await agent.tracker_store.retrieve("anna")
    tools = [event for event in tracker.events if event.type_name == "mcp_tool_executed"]
    outcomes = [[event.tool_name, event.error_message or event.result] for event in tools]
    return {"first": first, "second": second, "tools": outcomes, "flow": tracker.active_flow}


async def _say(agent: Any, text: str) -> dict[str, Any]:
    arrived = time.monotonic()
    said = await agent.handle_text(text, sender_id="anna")
    return {
        "seconds": time.monotonic() - arrived,
        "texts": [message["text"] for message in said],
    }


def _project(folder: str, model: ModelServer) -> Project:
    bare = Project(folder=Path(folder), model_url=model.base_url, servers={}, agents={})
    for name, class_name in (("clerk", "Napping"), ("helper", "Dozing")):
        module = f"tests.host.interruption.agent.{class_name}"
        bare = bare.with_agent(name, servers=(), module=module)
    return bare.having(flows=FLOWS, domain=DOMAIN)


def main() -> None:
    """Play and print one line of JSON at the end of the output."""
    os.environ.setdefault("OPENAI_API_KEY", "offline")
    with (
        tempfile.TemporaryDirectory() as folder,
        ScriptedModel([*COMMANDS, *RULES]).serve() as model,
    ):
        os.chdir(folder)
        played = asyncio.run(play(_project(folder, model)))
    print(json.dumps(played), flush=True)


if __name__ == "__main__":
    main()
