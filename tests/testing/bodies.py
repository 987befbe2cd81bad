"""Request bodies for the tests of the scripted model. Builds plain values only."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["body", "called", "result", "said", "system", "tool", "user"]

Message = dict[str, Any]


def body(*messages: Message, **more: Any) -> dict[str, Any]:
    return {"model": "some-model", "messages": list(messages), **more}


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def user(text: Any) -> Message:
    return {"role": "user", "content": text}


def said(text: Any) -> Message:
    return {"role": "assistant", "content": text}


def called(*calls: tuple[str, str], arguments: Any = None, text: str | None = None) -> Message:
    """An assistant message with calls, each an id and a name."""
    written = json.dumps(arguments or {}) if not isinstance(arguments, str) else arguments
    return {
        "role": "assistant",
        "content": text,
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": written}}
            for id_, name in calls
        ],
    }


def result(id_: str, text: Any = "done") -> Message:
    return {"role": "tool", "tool_call_id": id_, "content": text}


def tool(name: str, parameters: Any = None, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}} if parameters is None else parameters
    function = {"name": name, "description": "A tool.", "parameters": schema, **more}
    return {"type": "function", "function": function}
