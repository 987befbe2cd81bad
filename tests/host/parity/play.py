"""Plays one conversation with the engine of a project and prints what the host recorded.

A process of its own, since a process binds one engine: `python -m tests.host.parity.play
ours` or `… host`. The project is the same but for the one line.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rasa_react_ext.testing import ModelServer, ScriptedModel
from tests.host.project import COMMANDS, Project, loaded
from tests.host.store import store
from tests.mcp_pool.mcp_server import serving

RULES: tuple[dict[str, Any], ...] = (
    {
        "when": {"user": "start shop", "last": "user", "tools": ["task_completed"]},
        "answer": {
            "text": "Let me look.",
            "calls": [{"name": "look_up", "arguments": {"item": "lamp"}}],
        },
    },
    {"when": {"tool": "look_up"}, "answer": "There is a lamp. Shall I reserve it?"},
    {
        "when": {"user": "yes", "last": "user", "tools": ["task_completed"]},
        "answer": {
            "text": "I reserve it.",
            "calls": [{"name": "reserve", "arguments": {"item": "lamp"}}],
        },
    },
    {
        "when": {"tool": "reserve"},
        "answer": {"text": "It is yours.", "calls": [{"name": "task_completed"}]},
    },
    {
        "when": {"user": "large", "last": "user", "tools": ["set_slot_size"]},
        "answer": {
            "text": "Noted.",
            "calls": [{"name": "set_slot_size", "arguments": {"slot_value": "L"}}],
        },
    },
    {"when": {"tools": ["set_slot_size"]}, "answer": "Which size?"},
)
SAYS = ("start shop", "yes please", "start booking", "large please")


async def play(project: Project) -> dict[str, Any]:
    """The events of the conversation, what agents put out, and the waiting frame."""
    outputs: list[dict[str, Any]] = []
    frames: list[dict[str, Any]] = []
    async with loaded(project) as agent:
        engines = _watch(outputs)
        for text in SAYS:
            await agent.handle_text(text, sender_id="anna")
            tracker = await agent.tracker_store.retrieve("anna")
            frames.append(_waiting(tracker.stack))
    events = [event.as_dict() for event in tracker.events]
    return {"engines": engines, "events": events, "frames": frames, "outputs": outputs}


def _watch(outputs: list[dict[str, Any]]) -> dict[str, str]:
    """Note what each registered agent puts out; tells whose engine drives it."""
    from rasa.agents.agent_manager import AgentManager

    agents = AgentManager().agents
    for agent in agents.values():
        agent.run = _noting(agent.run, outputs)
    return {str(key): _engine(type(agent)) for key, agent in agents.items()}


def _engine(agent_class: type) -> str:
    packages = [base.__module__.partition(".")[0] for base in agent_class.__mro__]
    return "rasa_react_ext" if "rasa_react_ext" in packages else packages[0]


def _noting(run: Any, outputs: list[dict[str, Any]]) -> Any:
    async def noting(*given: Any, **more: Any) -> Any:
        output = await run(*given, **more)
        told = output.model_dump(exclude={"events"})
        told["status"] = output.status.value
        told["events"] = [event.type_name for event in output.events or ()]
        outputs.append(told)
        return output

    return noting


def _waiting(stack: Any) -> dict[str, Any]:
    """Metadata of the frame of an agent that waits, else nothing."""
    from rasa.dialogue_understanding.stack.frames.flow_stack_frame import AgentStackFrame

    waiting = [frame for frame in stack.frames if isinstance(frame, AgentStackFrame)]
    return dict(waiting[0].metadata or {}) if waiting else {}


def _project(engine: str, folder: str, model: ModelServer, url: str) -> Project:
    project = Project(folder=Path(folder), model_url=model.base_url, servers={"store": url})
    return project if engine == "ours" else project.having(policies=({"name": "FlowPolicy"},))


def main(arguments: Sequence[str]) -> None:
    """Play and print one line of JSON at the end of the output."""
    done: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(lambda: store(done).streamable_http_app()) as shop,
        ScriptedModel([*COMMANDS, *RULES]).serve() as model,
    ):
        os.chdir(folder)
        project = _project(arguments[0], folder, model, shop.url)
        played = asyncio.run(play(project))
    print(json.dumps(played, default=str))


if __name__ == "__main__":
    main(sys.argv[1:])
