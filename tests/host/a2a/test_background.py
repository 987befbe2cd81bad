"""A sub agent that works in the background keeps the task working, and its report ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from rasa_react_ext.testing import ModelServer
from tests.a2a_client.remote import Remote, remote
from tests.a2a_server.serving import rpc, state_of
from tests.host.a2a.bank import served
from tests.host.a2a.talk import Caller
from tests.host.external.words import COMMANDS, DOMAIN, external
from tests.host.project import Project

SESSIONS = 'version: "3.1"\nsession_config: {start_session_after_expiry: false}'


@pytest.fixture
def reporter() -> Iterator[Remote]:
    """A remote agent that reports by itself."""
    with remote(push=True) as agent:
        yield agent


@asynccontextmanager
async def trading(
    project: Project, reporter: Remote, port: int, busy: str
) -> AsyncIterator[Caller]:
    """A caller of an assistant whose agent works in the background."""
    from rasa_react_ext.channels import TaskUpdates

    found = external(project, reporter, push_notification_url=f"http://127.0.0.1:{port}")
    found = found.having(domain=DOMAIN.replace('version: "3.1"', SESSIONS).strip() + "\n")
    settings = {"allow_private_push_url": True, "busy": busy}
    found = found.with_settings(agents={"broker": settings})
    found.open()
    updates = TaskUpdates.from_credentials({})
    async with served(found, channels=[updates], port=port) as (url, _):
        yield Caller(url)


async def comes_to(caller: Caller, state: str) -> None:
    """Read the task until it is in a state."""
    task_id = caller.task["id"]
    async with asyncio.timeout(60):
        while state_of(caller.task) != state:
            _, read = await rpc(caller.url, "GetTask", {"id": task_id})
            caller.task = read["result"]
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(("busy", "state"), [("guard", "working"), ("free", "input_required")])
async def test_d8_background_work_keeps_its_task_open_and_its_report_ends_it(
    project: Project,
    model: ModelServer,
    reporter: Remote,
    free_port: Callable[[], int],
    busy: str,
    state: str,
) -> None:
    model.use(COMMANDS)
    async with trading(project, reporter, free_port(), busy) as caller:
        assert await caller.say("start trade wait") == state
        if busy == "guard":
            assert await caller.say("hurry", taskId=caller.task["id"]) == "working"
            assert "still busy" in caller.text
        reporter.release()
        await comes_to(caller, "completed")
        assert caller.text == "At last.\n\nCome again."
        assert reporter.done == {"wait": 1}


@pytest.mark.parametrize("busy", ["guard", "free"])
@pytest.mark.parametrize("order", ["ask", "later ask"])
async def test_d8_a_question_from_the_background_waits_for_the_caller_and_the_reply_goes_on(
    project: Project,
    model: ModelServer,
    reporter: Remote,
    free_port: Callable[[], int],
    busy: str,
    order: str,
) -> None:
    model.use(COMMANDS)
    async with trading(project, reporter, free_port(), busy) as caller:
        await caller.say(f"start trade {order}")
        reporter.release()
        await comes_to(caller, "input_required")
        async with asyncio.timeout(30):
            while "Which currency?" not in caller.text:
                caller.task["status"]["state"] = ""
                await comes_to(caller, "input_required")
        await caller.say("CAD", taskId=caller.task["id"])
        await comes_to(caller, "completed")
        assert caller.text == "Got CAD.\n\nCome again."
