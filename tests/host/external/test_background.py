"""Tasks that go on in the background and report by themselves, behind the host's server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import fields
from typing import Any

import httpx
import pytest
import yaml

from rasa_react_ext.testing import ModelServer
from tests.a2a_client.remote import Remote, remote
from tests.host.external.server import Server, free_port, served
from tests.host.external.words import COMMANDS, external
from tests.host.project import Project

pytestmark = pytest.mark.host

BUSY = "I'm still busy"
STATUS_PATTERN = """
  pattern_external_agent_processing:
    description: Says how far the agent is.
    steps:
      - action: action_sub_agent_status
"""


@pytest.fixture
def reporter() -> Iterator[Remote]:
    """A remote agent that reports by itself."""
    with remote(push=True) as agent:
        yield agent


@pytest.fixture
def port() -> int:
    """Where the assistant listens."""
    return free_port()


@pytest.fixture
def backed(
    project: Project, model: ModelServer, reporter: Remote, port: int
) -> Callable[..., Project]:
    """Gives the project with these settings of its agent."""
    model.use(COMMANDS)

    def having(**settings: Any) -> Project:
        found = external(project, reporter, push_notification_url=f"http://127.0.0.1:{port}")
        values = {"allow_private_push_url": True, **settings}
        return found.with_settings(agents={"broker": values})

    return having


@pytest.fixture
async def guarded(backed: Callable[..., Project], port: int) -> AsyncIterator[Server]:
    """The assistant with the host's busy guard."""
    async with served(backed(), port) as server:
        yield server


@pytest.fixture
async def free(backed: Callable[..., Project], port: int) -> AsyncIterator[Server]:
    """The assistant whose user may go on."""
    async with served(backed(busy="free"), port, quiet_seconds=0.5, upkeep_seconds=0.2) as server:
        yield server


async def test_d7_a_guarded_task_is_delivered_when_it_reports_its_end(
    guarded: Server, reporter: Remote
) -> None:
    assert await guarded.says("start trade wait") == []
    assert await heard(guarded, 1) == ["Working on it."]
    assert BUSY in (await guarded.says("hurry"))[0]
    reporter.release()
    assert await heard(guarded, 2) == ["At last.", "Come again."]
    assert reporter.done == {"wait": 1}
    assert await counts(guarded) == {"unread": 0, "dead": 0, "open": 0}
    assert (await guarded.tracker()).stack.frames == []


class ProjectWithActions(Project):
    """A project that runs its own actions in the assistant's process."""

    def _write(self) -> None:
        super()._write()
        file = self.folder / "endpoints.yml"
        endpoints = yaml.safe_load(file.read_text())
        endpoints["action_endpoint"] = {"actions_module": "tests.host.external.status_actions"}
        file.write_text(yaml.safe_dump(endpoints))


async def test_d7_our_action_says_in_the_busy_pattern_what_the_agent_said_last(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    plain = backed()
    project = ProjectWithActions(**{f.name: getattr(plain, f.name) for f in fields(plain)})
    project = project.having(
        flows=plain.flows + STATUS_PATTERN,
        domain=plain.domain + "actions: [action_sub_agent_status]\n",
    )
    async with served(project, port) as server:
        await begin(server, reporter, "wait")
        assert await server.says("how far is it") == [
            "broker said less than a minute ago: Working on it."
        ]
        reporter.release()
        assert await heard(server, 2) == ["At last.", "Come again."]


async def test_d7_results_set_slots_through_the_users_hook(
    backed: Callable[..., Project], port: int, reporter: Remote, hooked: dict[str, list[Any]]
) -> None:
    project = backed()
    project = external(
        project,
        reporter,
        push_notification_url=f"http://127.0.0.1:{port}",
        module="tests.host.external.user_agent.Broker",
    )
    async with served(project, port) as server:
        await begin(server, reporter, "later data south")
        reporter.release()
        assert (await heard(server, 2))[-1] == "Come again."
        await counts(server)
        tracker = await server.tracker()
    assert tracker.get_slot("desk") == "south"
    assert len(hooked["output"]) == 2  # the begin of the task, and its end


async def test_d7_a_guarded_task_that_asks_back_is_answered_and_goes_on(
    guarded: Server, reporter: Remote
) -> None:
    await begin(guarded, reporter, "later ask")
    reporter.release()
    assert (await heard(guarded, 2))[-1] == "Which currency?"
    first = reporter.sent[0]
    await guarded.says("CAD")
    assert (await heard(guarded, 2))[-2:] == ["Got CAD.", "Come again."]
    reply = reporter.sent[1]
    assert reply["taskId"]
    assert reply["contextId"] == first["contextId"]
    assert reporter.done == {"later": 1, "CAD": 1}


async def test_a_task_that_waits_is_listed_with_its_question(
    guarded: Server, reporter: Remote
) -> None:
    from rasa_react_ext.host.external import ledger

    await begin(guarded, reporter, "later ask")
    reporter.release()
    await heard(guarded, 2)
    async with asyncio.timeout(10):
        while not (rows := await ledger.tasks().open()) or rows[0].background:
            await asyncio.sleep(0.02)
    assert [(row.said, row.parked) for row in rows] == [("Which currency?", False)]


async def test_d7_a_failed_task_ends_the_flow_once(guarded: Server, reporter: Remote) -> None:
    await begin(guarded, reporter, "later fail")
    reporter.release()
    await heard(guarded, 1)
    assert await counts(guarded) == {"unread": 0, "dead": 0, "open": 0}
    tracker = await guarded.tracker()
    assert [e.type_name for e in tracker.events].count("flow_cancelled") == 1
    assert reporter.done == {"later": 1}


@pytest.mark.parametrize("busy", ["guard", "free"])
async def test_d7_a_result_that_cannot_be_delivered_waits_for_the_next_message(
    backed: Callable[..., Project], port: int, reporter: Remote, busy: str
) -> None:
    async with served(backed(busy=busy), port) as server:
        await server.says("start trade later echo Bought.", by="rest")
        reporter.release()
        await until(lambda: reporter.done["later"] == 1)
        await parked(server)
        assert await server.says("how far is it", by="rest") == ["Bought.", "Come again."]
        tracker = await server.tracker()
        assert [e.text for e in tracker.events if e.type_name == "user"][-1] == "how far is it"


async def test_d7_a_free_user_asks_how_far_it_is_and_hears_the_result_at_once(
    free: Server, reporter: Remote
) -> None:
    said = await begin(free, reporter, "later echo Bought.")
    assert said == ["I'm on it and will tell you as soon as I know more.", "Working on it."]
    assert await free.says("how far is it") == ["Working on it."]
    reporter.release()
    assert await heard(free, 2) == ["Bought.", "Come again."]
    assert reporter.done == {"later": 1}


async def test_d7_a_result_during_a_digression_is_given_when_the_agent_is_resumed(
    free: Server, reporter: Remote
) -> None:
    await begin(free, reporter, "later echo Bought.")
    assert await free.says("start survey") == ["How was it?"]
    reporter.release()
    await parked(free)
    assert await free.says("fine") == ["Would you like to continue with trade?"]
    assert await free.says("yes") == ["Bought.", "Come again."]
    assert reporter.done == {"later": 1}
    assert await counts(free) == {"unread": 0, "dead": 0, "open": 0}


async def test_d7_a_free_user_who_cancels_cancels_the_remote_task(
    free: Server, reporter: Remote
) -> None:
    await begin(free, reporter, "later echo Bought.")
    await free.says("cancel it")
    await until(lambda: reporter.done["cancelled"] == 1)
    assert await counts(free) == {"unread": 0, "dead": 0, "open": 0}


async def test_d7_held_words_are_sent_as_a_follow_up(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    async with served(backed(busy="free", hold=True), port) as server:
        await begin(server, reporter, "later echo Bought.")
        assert "pass that on" in (await server.says("echo And sold."))[0]
        reporter.release()
        assert await heard(server, 3) == ["Bought.", "And sold.", "Come again."]
    assert [m["parts"][0]["text"] for m in reporter.sent][1:] == ["echo And sold."]
    assert reporter.sent[1]["contextId"] == reporter.sent[0]["contextId"]


async def test_d7_held_words_answer_a_question(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    async with served(backed(busy="free", hold=True), port) as server:
        await begin(server, reporter, "later ask")
        await server.says("CAD")
        reporter.release()
        async with asyncio.timeout(15):
            while ("anna", "Come again.") not in server.phone.said:
                await asyncio.sleep(0.02)
        assert server.phone.to("anna")[-2:] == ["Got CAD.", "Come again."]
    assert reporter.sent[1]["taskId"]


async def test_d7_an_agent_that_cannot_report_is_waited_for(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    reporter.push = False
    async with served(backed(), port) as server:
        assert await server.says("start trade stream") == [
            "One moment.",
            "Hello, world!",
            "Come again.",
        ]


async def test_d7_without_the_channel_an_agent_is_waited_for(
    backed: Callable[..., Project], reporter: Remote
) -> None:
    from tests.host.external.words import says
    from tests.host.project import loaded

    async with loaded(backed()) as agent:
        assert await says(agent, "start trade echo Bought.") == ["Bought.", "Come again."]


async def test_a_report_without_the_tasks_secret_changes_nothing(
    guarded: Server, reporter: Remote
) -> None:
    await begin(guarded, reporter, "wait")
    url, secret = push_of(reporter)
    forged = report(reporter, "COMPLETED", "Forged.")
    for headers in ({}, {"X-A2A-Notification-Token": "wrong"}, {"Authorization": "Bearer x"}):
        assert await post(url, forged, headers) == 401
    assert await post(url[:-4] + "0000", forged, {"X-A2A-Notification-Token": secret}) == 401
    reporter.release()
    assert await heard(guarded, 2) == ["At last.", "Come again."]


async def test_a_secret_ends_with_the_reply_and_with_the_task(
    guarded: Server, reporter: Remote
) -> None:
    await begin(guarded, reporter, "later ask")
    url, secret = push_of(reporter)
    old = {"X-A2A-Notification-Token": secret}
    reporter.release()
    await heard(guarded, 2)
    await guarded.says("later echo done")
    assert await post(url, report(reporter, "COMPLETED", "Forged."), old) == 401
    reporter.release()
    assert (await heard(guarded, 2))[-2:] == ["done", "Come again."]
    await counts(guarded)
    new = {"X-A2A-Notification-Token": push_of(reporter)[1]}
    assert await post(url, report(reporter, "WORKING", "Back again."), new) == 410


async def test_reports_again_late_and_out_of_order_change_nothing(
    guarded: Server, reporter: Remote
) -> None:
    await begin(guarded, reporter, "wait")
    url, secret = push_of(reporter)
    headers = {"X-A2A-Notification-Token": secret}
    # The agent itself says that it still works: the report told of something that is not so.
    assert await post(url, report(reporter, "INPUT_REQUIRED", "Really?"), headers) == 202
    again = report(reporter, "WORKING", "Half done.")
    assert [await post(url, again, headers) for _ in range(3)] == [202] * 3
    assert await heard(guarded, 1) == ["Half done."]
    reporter.release()
    assert await heard(guarded, 2) == ["At last.", "Come again."]


async def test_reports_in_the_older_form_and_unreadable_ones_do_no_harm(
    guarded: Server, reporter: Remote
) -> None:
    await begin(guarded, reporter, "wait")
    url, secret = push_of(reporter)
    headers = {"Authorization": f"Bearer {secret}"}
    older = {
        "kind": "status-update",
        "taskId": task_id(reporter),
        "contextId": "anna",
        "final": False,
        "status": {
            "state": "working",
            "message": {
                "kind": "message",
                "role": "agent",
                "messageId": "m1",
                "parts": [{"kind": "text", "text": "Older words."}],
            },
        },
    }
    assert await post(url, older, headers) == 202
    assert await heard(guarded, 1) == ["Older words."]
    assert await post(url, {"nothing": 1}, headers) == 202
    assert await post(url, {"text": "x" * 1_000_001}, headers) == 413
    reporter.release()
    assert await heard(guarded, 2) == ["At last.", "Come again."]


@pytest.mark.parametrize("enable_api", [False, True])
async def test_the_documented_path_is_served_where_the_host_has_none(
    backed: Callable[..., Project], port: int, reporter: Remote, enable_api: bool
) -> None:
    async with served(backed(), port, enable_api=enable_api) as server:
        await begin(server, reporter, "wait")
        headers = {"X-A2A-Notification-Token": push_of(reporter)[1]}
        url = f"{server.url}/agent/task_update"
        status = await post(url, report(reporter, "WORKING", "Half done."), headers)
        if enable_api:
            assert status == 400  # the host's own route, which knows nothing of our tasks
        else:
            assert status == 202
            assert await heard(server, 1) == ["Half done."]
        reporter.release()
        await heard(server, 2)


async def test_d7_an_agent_whose_reports_get_lost_is_asked(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    reporter.lose_pushes = True
    async with served(backed(), port, quiet_seconds=0.2, upkeep_seconds=0.1) as server:
        await begin(server, reporter, "wait")
        reporter.release()
        assert await heard(server, 2) == ["At last.", "Come again."]


async def test_d7_a_task_that_takes_too_long_is_cancelled_and_fails_the_flow(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    project = backed(background_seconds=0.3)
    async with served(project, port, quiet_seconds=0.2, upkeep_seconds=0.1) as server:
        await begin(server, reporter, "wait")
        await until(lambda: reporter.done["cancelled"] == 1)
        await heard(server, 1)
        await counts(server)
        assert (await server.tracker()).stack.frames == []


async def test_d7_a_task_past_its_time_is_ended_although_no_report_can_be_applied(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    project = backed(background_seconds=0.3)
    async with served(project, port, quiet_seconds=0.2, upkeep_seconds=0.1) as server:
        await server.says("start trade wait")
        await statement(
            "CREATE TRIGGER broken BEFORE UPDATE OF parked ON rasa_react_ext_remote_task "
            "WHEN NOT NEW.closed BEGIN SELECT RAISE(ABORT, 'it is broken'); END"
        )
        # As if it had been tried for half a minute.
        tried = "UPDATE rasa_react_ext_inbox SET attempts = 5, next_at = 0 WHERE error != ''"
        async with asyncio.timeout(10):
            while not await statement(tried):
                await asyncio.sleep(0.02)
        await counts(server)
        server.phone.to("anna")
        assert reporter.done["cancelled"] >= 1
        assert not [said for said in await server.says("start trade echo Again.") if BUSY in said]


async def test_d7_a_conversation_of_an_agent_that_is_gone_goes_on_when_its_time_is_over(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    async with served(backed(), port, quiet_seconds=0.2, upkeep_seconds=0.1) as server:
        await server.says("start trade wait")
        await statement("UPDATE rasa_react_ext_remote_task SET agent = 'gone', deadline = 1")
        await counts(server)
        assert not [said for said in await server.says("hello") if BUSY in said]


async def test_d7_a_task_that_an_operator_ends_by_force_frees_its_conversation(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    from rasa_react_ext.host.external import ledger

    async with served(backed(), port, upkeep_seconds=0.1) as server:
        await server.says("start trade wait")
        (row,) = await ledger.tasks().open()
        await ledger.tasks().expire(row.key)
        await counts(server)
        assert reporter.done["cancelled"] == 1
        assert not [said for said in await server.says("hello") if BUSY in said]


async def test_d7_cancel_stops_a_conversations_tasks_while_no_turn_is_running(
    guarded: Server, reporter: Remote
) -> None:
    from rasa_react_ext.channels import cancel

    await begin(guarded, reporter, "wait")
    assert await cancel("bert") == 0
    assert await cancel("anna") == 1
    assert reporter.done["cancelled"] == 1
    assert await guarded.says("start trade echo Again.") == []
    assert await heard(guarded, 2) == ["Again.", "Come again."]


async def test_d7_a_task_of_a_session_that_became_inactive_is_cancelled(
    backed: Callable[..., Project], port: int, reporter: Remote
) -> None:
    from rasa.shared.core.events import ConversationInactive

    async with served(backed(), port, quiet_seconds=0.2, upkeep_seconds=0.1) as server:
        await begin(server, reporter, "wait")
        tracker = await server.tracker()
        tracker.update(ConversationInactive())
        await server.agent.processor.save_tracker(tracker)
        await until(lambda: reporter.done["cancelled"] == 1)


async def test_d7_a_task_whose_conversation_is_gone_is_cancelled(
    backed: Callable[..., Project],
    port: int,
    reporter: Remote,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rasa_react_ext.host.external.upkeep.LOCK_LIFETIME", 0)
    async with served(backed(), port, quiet_seconds=0.2, upkeep_seconds=0.1) as server:
        await begin(server, reporter, "wait")
        await server.agent.tracker_store.delete("anna")
        await until(lambda: reporter.done["cancelled"] == 1)


async def test_d7_what_was_applied_before_a_crash_is_not_applied_again(
    guarded: Server, reporter: Remote
) -> None:
    await begin(guarded, reporter, "later ask")
    reporter.release()
    await heard(guarded, 2)
    await again(guarded)
    await guarded.says("CAD")
    assert (await heard(guarded, 2))[-2:] == ["Got CAD.", "Come again."]
    await counts(guarded)
    await again(guarded)
    await counts(guarded)
    assert guarded.phone.to("anna") == []
    tracker = await guarded.tracker()
    texts = [event.text for event in tracker.events if event.type_name == "bot"]
    assert texts.count("Which currency?") == 1
    assert texts.count("Got CAD.") == 1


async def test_d7_a_user_who_cancels_in_another_process_cancels_the_remote_task(
    free: Server, reporter: Remote
) -> None:
    from rasa_react_ext.host.external import ledger

    await begin(free, reporter, "later echo Bought.")
    ledger.watched.clear()
    await free.says("cancel it")
    await until(lambda: reporter.done["cancelled"] == 1)


async def statement(text: str) -> int:
    """Run a statement in the store; how many rows it changed."""
    import sqlalchemy as sa

    from rasa_react_ext.host import process

    async with process.current().database.transaction() as connection:
        return (await connection.execute(sa.text(text))).rowcount


async def test_without_its_store_the_channel_says_that_it_is_not_there(
    guarded: Server, reporter: Remote
) -> None:
    from rasa_react_ext.host import process
    from rasa_react_ext.store import Database

    await begin(guarded, reporter, "wait")
    url, secret = push_of(reporter)
    current = process.current()
    kept, current._database = current.database, Database("postgresql://root@127.0.0.1:1/x")
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            health = await client.get(f"{guarded.url}/webhooks/task_updates/health")
        assert (health.status_code, health.json()) == (503, {"status": "store unreachable"})
        said = report(reporter, "WORKING", "Half done.")
        assert await post(url, said, {"X-A2A-Notification-Token": secret}) == 503
    finally:
        current._database = kept
    assert await post(url, said, {"X-A2A-Notification-Token": secret}) == 202


async def again(server: Server) -> None:
    """Have all reports of the conversation applied once more, as after a crash."""
    import sqlalchemy as sa

    from rasa_react_ext.host import process

    async with process.current().database.transaction() as connection:
        await connection.execute(sa.text("UPDATE rasa_react_ext_remote_task SET closed = false"))
        await connection.execute(
            sa.text("UPDATE rasa_react_ext_inbox SET done = false, next_at = 0")
        )
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client, asyncio.timeout(15):
        while True:
            answer = await client.get(f"{server.url}/webhooks/task_updates/health")
            if not answer.json()["unread"]:
                return
            await asyncio.sleep(0.02)


async def begin(server: Server, reporter: Remote, order: str) -> list[str]:
    """Begin a task; what the user hears until it works."""
    said = await server.says(f"start trade {order}")
    return said + await heard(server, 1)


def push_of(reporter: Remote) -> tuple[str, str]:
    """Address and secret that the agent was given last."""
    config = reporter.configurations[-1]["taskPushNotificationConfig"]
    assert config["authentication"] == {"scheme": "Bearer", "credentials": config["token"]}
    return config["url"], config["token"]


def task_id(reporter: Remote) -> str:
    """The agent's name of its last task."""
    return reporter.messages[-1].task_id


def report(reporter: Remote, state: str, text: str) -> dict[str, Any]:
    """A report about the agent's last task."""
    message = {"role": "ROLE_AGENT", "messageId": f"m-{text}", "parts": [{"text": text}]}
    status = {"state": f"TASK_STATE_{state}", "message": message}
    return {"statusUpdate": {"taskId": task_id(reporter), "contextId": "anna", "status": status}}


async def post(url: str, body: dict[str, Any], headers: dict[str, str]) -> int:
    """Send a report; the answer's status."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        return (await client.post(url, json=body, headers=headers)).status_code


async def parked(server: Server) -> None:
    """Wait until a result is kept for the conversation."""
    from rasa_react_ext.host.external import ledger

    async with asyncio.timeout(10):
        while not any(row.parked for row in await ledger.tasks().open()):
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)  # the conversation is saved a moment later


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.02)


async def heard(server: Server, count: int, sender: str = "anna") -> list[str]:
    """What the user hears without asking; waits for so many words."""
    async with asyncio.timeout(15):
        while len([1 for to, _ in server.phone.said if to == sender]) < count:
            await asyncio.sleep(0.02)
    return server.phone.to(sender)


async def counts(server: Server) -> dict[str, int]:
    """The channel's own figures, once everything is worked off."""
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        async with asyncio.timeout(10):
            while True:
                answer = await client.get(f"{server.url}/webhooks/task_updates/health")
                if not answer.json()["unread"] and not answer.json()["open"]:
                    return answer.json()
                await asyncio.sleep(0.02)
