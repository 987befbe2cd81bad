"""A process is killed in the middle of a turn; a new one gets the same message."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.testing import ModelServer
from tests.host.interruption.kept import kept
from tests.host.project import Project, loaded

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning"),
]

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


def _begin(project: Project, *texts: str) -> int:
    """A process of its own that loads the assistant and says these; its id."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            asyncio.run(_say(project, texts))
            code = 0
        except BaseException:  # noqa: BLE001 - nothing of this process may go on in the tests
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    return process


async def _say(project: Project, texts: tuple[str, ...]) -> None:
    async with loaded(project) as agent:
        for text in texts:
            await agent.handle_text(text, sender_id="anna")


def _killed(project: Project, model: ModelServer, *texts: str) -> None:
    """Say these in a new process and kill it while the model looks at a tool's result."""
    process = _begin(project, *texts)
    deadline = time.monotonic() + SECONDS
    while not _looks_at_a_result(model):
        assert time.monotonic() < deadline, "the process did not come to the place"
        assert os.waitpid(process, os.WNOHANG) == (0, 0), "the process ended by itself"
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def _ends(process: int) -> None:
    """Wait for a process that comes to its end."""
    deadline = time.monotonic() + SECONDS
    ended, status = 0, 0
    while not ended:
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
        ended, status = os.waitpid(process, os.WNOHANG)
        time.sleep(0.02)
    assert status == 0


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
