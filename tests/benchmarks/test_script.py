"""The model script makes a model do the tasks that are measured."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from benchmarks.script import TALK, Task, chain, every_server, one_tool, parallel, reading, rules
from rasa_react_ext.testing import ScriptedModel

TASKS = (TALK, parallel(1), parallel(10), chain(10), chain(40), reading(10), one_tool())


async def calls_made(url: str, task: Task) -> list[list[dict[str, Any]]]:
    """Play an agent's part; the calls of each answer until the model is done."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": task.message}]
    batches: list[list[dict[str, Any]]] = []
    async with httpx.AsyncClient(timeout=10) as client:
        while len(batches) <= task.tools:
            body = {"model": "scripted", "messages": messages}
            answer = await client.post(f"{url}/v1/chat/completions", json=body)
            message = answer.raise_for_status().json()["choices"][0]["message"]
            if message.get("content") == "Done.":
                return batches
            batches.append(message["tool_calls"])
            messages.append(message)
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": "result"}
                for call in message["tool_calls"]
            ]
    raise AssertionError(f"no end after {len(batches)} answers")


@pytest.mark.parametrize("task", [*TASKS, every_server(5)], ids=lambda task: task.message)
async def test_each_task_takes_the_calls_it_names(task: Task) -> None:
    written = rules(parallel_tools=(1, 10), steps=(10, 40), servers=5)
    async with ScriptedModel(written).serve() as model:
        batches = await calls_made(model.url, task)
    calls = [call["function"] for batch in batches for call in batch]
    assert len(calls) == task.tools
    assert len({(call["name"], call["arguments"]) for call in calls}) == task.tools


async def test_chains_ask_for_one_tool_at_a_time_and_parallel_tasks_for_all_at_once() -> None:
    written = rules(parallel_tools=(10,), steps=(10,), servers=5)
    async with ScriptedModel(written).serve() as model:
        assert [len(batch) for batch in await calls_made(model.url, chain(10))] == [1] * 10
        assert [len(batch) for batch in await calls_made(model.url, parallel(10))] == [10]
