"""A background task that an operator cancelled does not hold up its conversation."""

from __future__ import annotations

import asyncio

import pytest

from rasa_react_ext.host import process
from rasa_react_ext.host.external.operate import end_remote_task
from rasa_react_ext.store import RemoteTasks
from rasa_react_ext.testing import ModelServer
from tests.a2a_client.remote import remote
from tests.a2a_client.steps import connected
from tests.host.external.server import free_port, served
from tests.host.external.words import COMMANDS, external
from tests.host.project import Project

pytestmark = pytest.mark.host


@pytest.mark.parametrize("reachable", [True, False])
async def test_the_conversation_of_a_cancelled_task_goes_on_with_a_failed_agent(
    project: Project, model: ModelServer, reachable: bool
) -> None:
    model.use(COMMANDS)
    port = free_port()
    with remote(push=True) as reporter:
        trading = external(project, reporter, push_notification_url=f"http://127.0.0.1:{port}")
        trading = trading.with_settings(agents={"broker": {"allow_private_push_url": True}})
        async with served(trading, port) as server:
            await server.says("start trade wait")
            tasks = RemoteTasks(process.current().database)
            (row,) = await tasks.open()
            reporter.lose_pushes = True
            if reachable:
                async with connected(reporter) as connection:
                    assert await connection.cancel(row.task_id)
            else:
                reporter.fail_next["GetTask"] = [503] * 50
            await end_remote_task(process.current().database, row)
            async with asyncio.timeout(15):
                while (await server.tracker()).stack.frames or await tasks.open():
                    await asyncio.sleep(0.05)
            reporter.lose_pushes, reporter.fail_next = False, {}
            server.phone.to("anna")
            await server.says("start trade echo Bought.")
            async with asyncio.timeout(15):
                while ("anna", "Bought.") not in server.phone.said or await tasks.open():
                    await asyncio.sleep(0.05)
