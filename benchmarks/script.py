"""The tasks of the measurements, and the model script that makes a model do them.

The user's message names the task; the model knows it by that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.server import tool_names

__all__ = ["TALK", "Task", "chain", "every_server", "one_tool", "parallel", "reading", "rules"]

MODEL_SECONDS = 0.05
WAIT_MS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a user asks for.

    Attributes:
        message: The user's words.
        tools: Tool calls it takes.
    """

    message: str
    tools: int


TALK = Task(message="just talk", tools=0)


def parallel(tools: int) -> Task:
    """The model asks for all the tools in one answer; each takes `WAIT_MS`."""
    return Task(message=f"use {tools} tools at once", tools=tools)


def chain(steps: int) -> Task:
    """The model asks for one tool after the other."""
    return Task(message=f"make {steps} steps in a row", tools=steps)


def reading(steps: int) -> Task:
    """The same with a tool that declares itself read-only."""
    return Task(message=f"read {steps} pages in a row", tools=steps)


def one_tool() -> Task:
    """A model that takes `MODEL_SECONDS` for each answer asks for one tool."""
    return Task(message="take your time with one tool", tools=1)


def every_server(servers: int) -> Task:
    """The model asks for one tool of each server in one answer."""
    return Task(message=f"ask all {servers} servers", tools=servers)


def rules(
    *, parallel_tools: tuple[int, ...], steps: tuple[int, ...], servers: int
) -> list[dict[str, Any]]:
    """The model's rules for all tasks of these sizes."""
    wait, instant, read = tool_names(1)
    slow = {"delay_seconds": MODEL_SECONDS}
    everywhere = [(tool_names(number)[1], {"n": number}) for number in range(1, servers + 1)]
    found = [
        _asks(every_server(servers), everywhere),
        _asks(one_tool(), [(instant, {"n": 1})], **slow),
        {"when": {"user": one_tool().message}, "answer": {"text": "Done.", **slow}},
    ]
    for count in parallel_tools:
        waits = [(wait, {"ms": WAIT_MS, "label": label}) for label in range(count)]
        found.append(_asks(parallel(count), waits))
    for count in steps:
        found += _in_a_row(chain(count), instant)
        found += _in_a_row(reading(count), read)
    return [*found, {"answer": "Done."}]


def _asks(task: Task, calls: list[tuple[str, dict[str, Any]]], **more: Any) -> dict[str, Any]:
    written = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return {"when": {"user": task.message, "step": 1}, "answer": {"calls": written, **more}}


def _in_a_row(task: Task, tool: str) -> list[dict[str, Any]]:
    step = {"name": tool, "arguments": '{"n": {{ step }}}'}
    return [
        {"when": {"user": task.message, "step": task.tools + 1}, "answer": "Done."},
        {"when": {"user": task.message}, "answer": {"calls": [step]}},
    ]
