"""Turns with a remote agent, in the real host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from rasa_react_ext.a2a_wire import Task, data_of
from rasa_react_ext.testing import ModelServer
from tests.a2a_client.grpc_remote import grpc_remote
from tests.a2a_client.remote import Remote
from tests.host.external.words import COMMANDS, external, says, texts
from tests.host.project import Project, loaded

pytestmark = pytest.mark.host

OUTCOMES = [
    ("echo Bought.", ["Bought.", "Come again."]),
    ("stream", ["One moment.", "Hello, world!", "Come again."]),
    ("ask", ["Let me see.", "Which currency?"]),
    ("auth", ["Sign in at https://example.com/login"]),
    ("message", ["Hi there."]),
    ("steps", ["Step one.", "Step two.", "Step two.", "All done.", "Come again."]),
]


@pytest.mark.parametrize(("order", "expected"), OUTCOMES)
async def test_d7_every_outcome_of_an_agent_is_shown_once(
    trading: Project, broker: Remote, order: str, expected: list[str]
) -> None:
    async with loaded(trading) as agent:
        assert await says(agent, f"start trade {order}") == expected
        tracker = await agent.tracker_store.retrieve("anna")
    assert texts(broker) == [f"start trade {order}"]
    uttered = [event.text for event in tracker.events if event.type_name == "bot"]
    assert uttered == expected


@pytest.mark.parametrize("order", ["fail", "reject"])
async def test_d7_a_failed_task_is_sent_once_and_ends_the_flow(
    trading: Project, broker: Remote, order: str
) -> None:
    async with loaded(trading) as agent:
        said = await says(agent, f"start trade {order}")
        tracker = await agent.tracker_store.retrieve("anna")
    assert broker.done == {order: 1}
    assert "Come again." not in said
    assert "flow_cancelled" in [event.type_name for event in tracker.events]


async def test_b78_a_reply_carries_task_and_context_also_after_a_restart_of_the_bot(
    trading: Project, broker: Remote
) -> None:
    async with loaded(trading) as agent:
        await says(agent, "start trade ask")
        tracker = await agent.tracker_store.retrieve("anna")
    async with loaded(trading) as agent:
        await agent.tracker_store.save(tracker)
        assert await says(agent, "CAD") == ["Got CAD.", "Come again."]
    first, reply = broker.sent
    assert (first["contextId"], "taskId" in first) == ("anna", False)
    assert (reply["contextId"], bool(reply["taskId"])) == ("anna", True)


async def test_b79_a_later_call_is_a_new_task_in_the_same_context(
    trading: Project, broker: Remote
) -> None:
    async with loaded(trading) as agent:
        await says(agent, "start trade ask")
        await says(agent, "CAD")
        await says(agent, "start trade echo again")
    assert ["taskId" in message for message in broker.sent] == [False, True, False]
    assert {message.context_id for message in broker.messages} == {"anna"}


async def test_d7_a_context_that_the_agent_chose_is_kept(trading: Project, broker: Remote) -> None:
    broker.own_context = "theirs"
    async with loaded(trading) as agent:
        await says(agent, "start trade message")
        await says(agent, "echo Bought.")
        await says(agent, "start trade message")
    assert [message["contextId"] for message in broker.sent] == ["anna", "theirs", "theirs"]


async def test_d7_words_on_the_way_are_recorded_as_the_host_records_them(
    trading: Project, broker: Remote
) -> None:
    async with loaded(trading) as agent:
        await says(agent, "start trade ask")
        tracker = await agent.tracker_store.retrieve("anna")
    on_the_way, question = [e for e in tracker.events if e.type_name == "bot"]
    metadata = on_the_way.metadata
    assert metadata["utter_source"] == "A2AAgent"
    assert metadata["agent_name"] == "broker"
    assert metadata["agent_message_type"] == "intermediate_message"
    assert metadata["agent_context_id"] == "anna"
    assert metadata["agent_task_id"] == question.metadata["agent_task_id"]
    assert {"agent_message_id", "agent_message_timestamp", "active_flow", "step_id"} <= set(
        metadata
    )


async def test_d7_hooks_of_a_users_class_are_called_and_keep_its_name(
    trading: Project, broker: Remote, hooked: dict[str, list[Any]]
) -> None:
    project = external(
        trading,
        broker,
        module="tests.host.external.user_agent.Broker",
        pre_call_hook="tests.host.external.user_agent.credentials",
    )
    async with loaded(project) as agent:
        await _set_slots(agent, size="L", amount=3.0)
        said = await says(agent, "start trade data south")
        tracker = await agent.tracker_store.retrieve("anna")
    assert said == ["Here you are.\nFile: https://example.com/a.pdf", "Come again."]
    message = broker.messages[0]
    assert data_of(message.parts[1]) == {"slots": {"size": "L"}}
    metadata = MessageToDict(message.metadata)
    assert metadata["tenant_id"] == "premium"
    assert metadata["x-secret"] == "of anna"
    assert {"sender_id", "agent_id", "model_id", "context_id"} <= set(metadata)
    assert "rasa_react_ext" not in metadata
    assert tracker.get_slot("desk") == "south"
    entries = hooked["output"][0].structured_results[-1]
    assert [(entry["name"], entry["type"]) for entry in entries] == [
        ("named", "data"),
        ("named", "file"),
    ]
    assert entries[0]["result"] == {"desk": "south", "count": 3}
    assert "x-secret" not in str(tracker.current_state())
    assert {e.metadata.get("utter_source") for e in tracker.events if e.type_name == "bot"} >= {
        "Broker"
    }


async def test_d7_ids_of_process_input_win(trading: Project, broker: Remote) -> None:
    project = external(trading, broker, module="tests.host.external.user_agent.Router")
    async with loaded(project) as agent:
        await says(agent, "start trade echo Bought.")
    assert broker.messages[0].context_id == "chosen"


async def test_d7_a_hook_that_fails_sends_nothing_and_tells_no_secret(
    trading: Project, broker: Remote, capsys: pytest.CaptureFixture[str]
) -> None:
    hook = "tests.host.external.user_agent.broken_credentials"
    async with loaded(external(trading, broker, pre_call_hook=hook)) as agent:
        await says(agent, "start trade echo Bought.")
    assert broker.messages == []
    assert "hunter2" not in capsys.readouterr().out


async def test_d7_what_is_shared_is_narrowed_by_settings(trading: Project, broker: Remote) -> None:
    share = {"slots": ["amount"], "metadata": ["sender_id"], "history": "first"}
    project = trading.with_settings(agents={"broker": {"share": share}})
    async with loaded(project) as agent:
        await says(agent, "hello")
        await _set_slots(agent, size="L", amount=3.0)
        await says(agent, "start trade ask")
        await says(agent, "CAD")
    first, reply = broker.messages
    assert "USER: hello" in first.parts[0].text
    assert reply.parts[0].text == "CAD"
    assert data_of(first.parts[1]) == {"slots": {"amount": 3}}
    assert MessageToDict(first.metadata) == {"sender_id": "anna"}


async def test_d7_working_keys_and_earlier_results_are_not_sent(
    trading: Project, broker: Remote
) -> None:
    async with loaded(trading) as agent:
        await says(agent, "start trade ask")
        await says(agent, "CAD")
    sent = set(MessageToDict(broker.messages[1].metadata))
    assert sent == {
        "sender_id",
        "agent_id",
        "model_id",
        "context_id",
        "task_id",
        "agent_task_id",
    } & (sent)
    assert not sent & {"structured_results", "agent_response", "active_flow", "utter_source"}


async def test_b63_an_agent_that_is_down_does_not_stop_the_bot_and_serves_when_it_is_back(
    trading: Project, broker: Remote
) -> None:
    broker.served.stop()
    project = external(trading, broker, max_retries=0)
    async with loaded(project) as agent:
        assert "Come again." not in await says(agent, "start trade echo one")
        await asyncio.to_thread(broker.served.start)
        assert await says(agent, "start trade echo two") == ["two", "Come again."]


@pytest.mark.parametrize("on_cancel", ["wait", "end"])
async def test_b60_a_cancelled_turn_ends_at_once_and_cancels_the_remote_task(
    trading: Project, broker: Remote, on_cancel: str
) -> None:
    project = trading.with_settings(agents={"broker": {"on_cancel": on_cancel}})
    async with loaded(project) as agent:
        turn = asyncio.create_task(says(agent, "start trade wait"))
        await until(lambda: broker.done["wait"] == 1)
        await asyncio.sleep(0.1)  # the id of the task is on its way
        started = time.monotonic()
        assert agent.cancel_background_tasks("anna")
        said = await turn
        # The host saves the conversation and answers within this time, too.
        assert time.monotonic() - started < 0.5
        await until(lambda: broker.done["cancelled"] == 1)
        tracker = await agent.tracker_store.retrieve("anna")
    assert said in ([], ["Working on it."])
    assert ("flow_cancelled" in [e.type_name for e in tracker.events]) == (on_cancel == "end")


async def test_a_waiting_task_is_cancelled_when_the_user_cancels_its_flow(
    trading: Project, broker: Remote
) -> None:
    async with loaded(trading) as agent:
        await says(agent, "start trade ask")
        await says(agent, "cancel it")
        await until(lambda: broker.done["cancelled"] == 1)
        assert await says(agent, "start trade echo Bought.") == ["Bought.", "Come again."]
    assert broker.done == {"ask": 1, "cancelled": 1, "echo": 1}


async def test_a_waiting_task_is_left_alone_during_a_digression(
    trading: Project, broker: Remote
) -> None:
    async with loaded(trading) as agent:
        await says(agent, "start trade ask")
        await says(agent, "start other")
        assert (await says(agent, "yes"))[-1:] == ["Come again."]
    assert broker.done["cancelled"] == 0


async def test_a_task_that_is_waited_for_is_noted_so_that_a_killed_worker_leaves_no_orphan(
    trading: Project, broker: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rasa_react_ext.host.external import ledger, turn

    monkeypatch.setattr(turn, "NOTED_AFTER_SECONDS", 0.05)
    async with loaded(trading) as agent:
        talking = asyncio.create_task(says(agent, "start trade wait"))
        async with asyncio.timeout(20):
            while not (noted := await ledger.tasks().open_of("anna")):
                await asyncio.sleep(0.02)
        assert [(row.agent, bool(row.task_id)) for row in noted] == [("broker", True)]
        broker.release()
        assert (await talking)[-1] == "Come again."
        assert await ledger.tasks().open_of("anna") == []


async def test_a_task_that_waits_for_the_user_is_noted_with_its_question(
    trading: Project, broker: Remote
) -> None:
    from rasa_react_ext.host.external import ledger

    async with loaded(trading) as agent:
        assert await says(agent, "start trade ask") == ["Let me see.", "Which currency?"]
        (row,) = await ledger.tasks().open()
        assert (row.said, bool(row.said_at)) == ("Which currency?", True)
        await ledger.tasks().update(row.key, said="Let me see.")
        task = Task(id=row.task_id)
        task.status.message.parts.add(text="In which currency, please?")
        assert await ledger.note_waiting("anna", "broker", row.key, task) == row.key
        assert [row.said for row in await ledger.tasks().open()] == ["In which currency, please?"]


async def test_a_turn_that_is_over_soon_writes_nothing(trading: Project, broker: Remote) -> None:
    from rasa_react_ext.host.external import ledger

    ledger.watched.clear()
    async with loaded(trading) as agent:
        assert await says(agent, "start trade echo Bought.") == ["Bought.", "Come again."]
        assert await ledger.tasks().open() == []
        assert "anna" not in ledger.watched
    assert broker.done == {"echo": 1}


async def test_tasks_closed_long_ago_are_forgotten_without_the_channel_too(
    trading: Project, broker: Remote
) -> None:
    import sqlalchemy as sa

    from rasa_react_ext.host import process
    from rasa_react_ext.host.external import ledger

    async def rows() -> int:
        async with process.current().database.transaction() as connection:
            count = sa.text("SELECT count(*) FROM rasa_react_ext_remote_task")
            return int((await connection.execute(count)).scalar_one())

    async with loaded(trading) as agent:
        await says(agent, "start trade ask")
        await says(agent, "CAD")
        async with process.current().database.transaction() as connection:
            await connection.execute(
                sa.text("UPDATE rasa_react_ext_remote_task SET checked_at = 1 WHERE closed")
            )
        assert await rows() == 1
        await says(agent, "start trade ask")
        assert "anna" in ledger.watched
        async with asyncio.timeout(10):
            while await rows() != 1:
                await asyncio.sleep(0.02)


def test_conversations_that_never_come_back_are_not_remembered_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from rasa_react_ext.host.external import ledger

    monkeypatch.setattr(ledger, "watched", {})
    monkeypatch.setattr(ledger, "WATCHED_AT_MOST", 3)
    for name in ["a", "b", "c", "a", "d"]:
        ledger.watch(name)
    assert list(ledger.watched) == ["c", "a", "d"]


async def test_polling_that_gives_up_cancels_the_remote_task_and_fails_the_flow(
    trading: Project, broker: Remote
) -> None:
    broker.cut_after = 1
    async with loaded(external(trading, broker, max_polling_time=1, timeout=1)) as agent:
        assert "Come again." not in await says(agent, "start trade wait")
        await until(lambda: broker.done["cancelled"] == 1)


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_d7_an_agent_over_grpc_serves_like_any_other(
    project: Project, model: ModelServer, version: str
) -> None:
    model.use(COMMANDS)
    with grpc_remote(version=version) as agent_behind_grpc:
        async with loaded(external(project, agent_behind_grpc)) as agent:
            assert await says(agent, "start trade ask") == ["Let me see.", "Which currency?"]
            assert await says(agent, "CAD") == ["Got CAD.", "Come again."]


async def test_d1_an_agent_of_the_host_is_replaced_and_let_go_with_the_others(
    trading: Project, broker: Remote
) -> None:
    from rasa.agents.agent_manager import AgentManager

    from rasa_react_ext.host.external.agent import ExternalAgent

    async with loaded(trading) as agent:
        (ours,) = AgentManager().agents.values()
        assert isinstance(ours, ExternalAgent)
        await says(agent, "start trade echo one")
    assert broker.done == {"echo": 1}


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def _set_slots(agent: Any, **slots: Any) -> None:
    from rasa.shared.core.events import SlotSet

    tracker = await agent.processor.get_tracker("anna")
    for name, value in slots.items():
        tracker.update(SlotSet(name, value), agent.domain)
    await agent.processor.save_tracker(tracker)
