"""A process is killed in the middle of a turn; a new one gets the same message."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.interruption.kept import kept
from tests.host.interruption.speaker import HEAVY, say
from tests.host.project import Project

pytestmark = pytest.mark.host

Script = Callable[..., ModelServer]
AGENTS = {"model": "agents"}
SECONDS = 60.0
HANGS = {"when": {**AGENTS, "last": "tool"}, "fault": {"hang": 60}}
STARTS = {"when": {**AGENTS, "user": "start shop"}, "answer": "What do you need?"}
SAYS = {"when": {**AGENTS, "last": "tool"}, "answer": "{{ result }}"}


def _calls(tool: str) -> dict[str, Any]:
    call = {"name": tool, "arguments": {"item": "lamp"}}
    return {"when": {**AGENTS, "user": "lamp", "last": "user"}, "answer": {"calls": [call]}}


def test_d3_7_what_may_not_run_twice_does_not_after_a_kill_and_the_model_hears_why(
    project: Project, script: Script, done: Counter[str]
) -> None:
    assistant = kept(project)
    asyncio.run(assistant.train())
    model = script(STARTS, _calls("reserve"), HANGS)
    _killed(assistant, model, "start shop", "the lamp")
    assert done["reserve"] == 1

    # Killed again after the model was told, before that turn was saved.
    model.clear()
    _killed(assistant, model, "the lamp")
    assert "unknown" in _told(model)
    assert done["reserve"] == 1

    model.clear()
    script(_calls("reserve"), SAYS)
    _ends(_begin(assistant, "the lamp"))
    assert "unknown" in _told(model)
    assert done["reserve"] == 1

    # Now the model knows; what it asks for from here on is run.
    model.clear()
    _ends(_begin(assistant, "the lamp"))
    assert _told(model) == "reserved lamp"
    assert done["reserve"] == 2


def test_d3_7_what_may_run_twice_runs_again_after_a_kill(
    project: Project, script: Script, done: Counter[str]
) -> None:
    assistant = kept(project)
    asyncio.run(assistant.train())
    model = script(STARTS, _calls("look_up"), HANGS)
    _killed(assistant, model, "start shop", "the lamp")
    assert done["look_up"] == 1
    model.clear()
    script(_calls("look_up"), SAYS)
    _ends(_begin(assistant, "the lamp"))
    assert "B4" in _told(model)
    assert done["look_up"] == 2


def _begin(project: Project, *texts: str) -> BaseProcess:
    """A process of its own that loads the assistant and says these."""
    archive = asyncio.run(project.train())
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*HEAVY])
    process = context.Process(target=say, args=(project, archive, texts, dict(os.environ)))
    process.start()
    return process


def _killed(project: Project, model: ModelServer, *texts: str) -> None:
    """Say these in a new process and kill it while the model looks at a tool's result."""
    process = _begin(project, *texts)
    try:
        deadline = time.monotonic() + SECONDS
        while not _looks_at_a_result(model):
            assert time.monotonic() < deadline, "the process did not come to the place"
            assert process.is_alive(), "the process ended by itself"
            time.sleep(0.02)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL


def _ends(process: BaseProcess) -> None:
    """Wait for a process that comes to its end."""
    process.join(SECONDS)
    process.kill()
    process.join()
    assert process.exitcode == 0


def _looks_at_a_result(model: ModelServer) -> bool:
    return any(_results(request.body) for request in model.requests)


def _told(model: ModelServer) -> str:
    """The newest tool result the model was told."""
    return str([result for r in model.requests for result in _results(r.body)][-1])


def _results(body: Any) -> list[str]:
    if not body or body.get("model") != "agents":
        return []
    messages = body["messages"]
    return [messages[-1]["content"]] if messages[-1]["role"] == "tool" else []
