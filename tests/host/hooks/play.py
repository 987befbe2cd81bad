"""What the tests of hooks share: Python tools, scripts that call them, what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from rasa_react_ext.testing import ModelServer

__all__ = [
    "SET_SIZE",
    "SIZE",
    "AtWork",
    "Script",
    "calling",
    "python_tool",
    "results",
    "said",
    "slots",
    "then",
]

AtWork = Callable[..., AbstractAsyncContextManager[Any]]
Script = Callable[..., ModelServer]

SIZE = ["slots.size is not null"]
SET_SIZE = {"calls": [{"name": "set_slot_size", "arguments": {"slot_value": "L"}}]}


def python_tool(name: str, executor: Any, **properties: Any) -> dict[str, Any]:
    """The definition of a Python tool.

    Args:
        name: Its name.
        executor: Its function.
        properties: Schemas of its parameters, all required.
    """
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"The tool {name}.",
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            },
        },
        "tool_executor": executor,
    }


def calling(*names: str, text: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Rule: the first answer to the user calls these tools, each with the arguments."""
    calls = [{"name": name, "arguments": arguments} for name in names]
    answer = {"calls": calls, **({"text": text} if text else {})}
    return {"when": {"last": "user", "model": "agents"}, "answer": answer}


def then(answer: str | Mapping[str, Any] = "Done.") -> dict[str, Any]:
    """Rule: what the model says to the results."""
    return {"when": {"last": "tool", "model": "agents"}, "answer": answer}


def results(model: ModelServer) -> list[str]:
    """Results the model was told in its newest request."""
    return [message["content"] for message in model.messages() if message["role"] == "tool"]


def said(output: Any) -> list[tuple[str, str]]:
    """Texts on record, each with its kind."""
    uttered = [event for event in output.events if event.type_name == "bot"]
    return [(e.text, e.metadata.get("agent_message_type", "")) for e in uttered]


def slots(output: Any) -> list[tuple[str, Any]]:
    """Slot events in their order."""
    events: Sequence[Any] = [event for event in output.events if event.type_name == "slot"]
    return [(event.key, event.value) for event in events]
