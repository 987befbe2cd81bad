"""States, slots and sessions of real dialogues, over the host's own port."""

from __future__ import annotations

from typing import Any

from rasa_react_ext.testing import ModelServer
from tests.a2a_server.serving import rpc, state_of
from tests.host.a2a.bank import BANK_RULES, served
from tests.host.a2a.talk import Caller
from tests.host.project import Project


async def test_a_flow_is_one_task_from_question_to_completion(bank_project: Project) -> None:
    async with served(bank_project) as (url, app):
        caller = Caller(url)
        assert await caller.say("start transfer_money") == "input_required"
        assert caller.text == "Who gets the money?"
        assert caller.data == {
            "state": "input_required",
            "active_flow": "transfer_money",
            "slots": {"recipient": None, "amount": None},
        }
        task_id = caller.task["id"]
        assert await caller.say("set recipient anna", taskId=task_id) == "input_required"
        assert caller.data["slots"] == {"recipient": "anna", "amount": None}
        assert caller.data["buttons"] == [{"title": "Ten"}, {"title": "Twenty"}]
        assert "SetSlots" not in str(caller.task)
        assert await caller.say("set amount 5", taskId=task_id) == "completed"
        assert caller.text.startswith("5.0 sent to anna.")
        assert caller.data["persisted_slots"] == {"recipient": "anna"}
        assert caller.data["completed_flow"] == "transfer_money"
        assert caller.task["id"] == task_id

        tracker = await app.ctx.agent.tracker_store.retrieve("a2a:anonymous:c")
        said = [event for event in tracker.events if event.type_name == "user"]
        assert said[0].text == "start transfer_money"
        assert said[0].input_channel == "a2a"
        assert said[0].metadata["a2a"]["caller"] == "anonymous"
        assert said[0].metadata["a2a"]["context_id"] == "c"


async def test_a_second_task_goes_on_with_the_conversation(bank_project: Project) -> None:
    async with served(bank_project) as (url, _):
        caller = Caller(url)
        await caller.say("start transfer_money")
        old = caller.task["id"]
        assert await caller.say("set recipient anna") == "input_required"
        assert caller.data["slots"]["recipient"] == "anna"
        assert caller.task["id"] != old
        _, read = await rpc(url, "GetTask", {"id": old})
        assert state_of(read["result"]) == "canceled"


async def test_what_cannot_be_handled_outside_a_flow_is_rejected(bank_project: Project) -> None:
    async with served(bank_project) as (url, _):
        caller = Caller(url)
        assert await caller.say("gibberish") == "rejected"
        assert caller.data["reason"]
        await caller.say("start transfer_money")
        assert await caller.say("gibberish") == "input_required"
        assert caller.data["active_flow"] == "transfer_money"


async def test_a_flow_that_the_user_stops_is_canceled(bank_project: Project) -> None:
    async with served(bank_project) as (url, _):
        caller = Caller(url)
        await caller.say("start transfer_money")
        assert await caller.say("stop", taskId=caller.task["id"]) == "canceled"
        assert caller.data["canceled_name"] == "transfer money"
        assert await caller.say("start show_balance") == "completed"


async def test_b99_an_action_that_breaks_fails_the_task_and_the_next_message_works(
    bank_project: Project,
) -> None:
    async with served(bank_project) as (url, _):
        caller = Caller(url)
        assert await caller.say("start broken") == "failed"
        assert caller.data["error_type"]
        assert "Traceback" not in str(caller.task)
        assert "action_break" not in str(caller.task)
        assert await caller.say("start show_balance") == "completed"
        assert caller.text.startswith("You have 7 coins.\n\nThat is all.")


async def test_b95_a_caller_that_cancels_leaves_the_flow(bank_project: Project) -> None:
    async with served(bank_project) as (url, app):
        caller = Caller(url)
        await caller.say("start transfer_money")
        _, canceled = await rpc(url, "CancelTask", {"id": caller.task["id"]})

        assert state_of(canceled["result"]) == "canceled"
        tracker = await app.ctx.agent.tracker_store.retrieve("a2a:anonymous:c")
        flows = [
            frame
            for frame in tracker.stack.frames
            if getattr(frame, "flow_id", "") == "transfer_money"
        ]
        assert flows == []
        assert await caller.say("start show_balance") == "completed"


async def test_slots_are_seeded_from_data_and_metadata_where_they_fit(
    bank_project: Project,
) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"recipient": "bert"}, {"recipient": "bert", "amount": None}),
        ({"recipient": "bert", "nothing": 1}, {"recipient": "bert", "amount": None}),
        ({"amount": "many"}, {"recipient": None, "amount": None}),
        ({"amount": {"a": 1}}, {"recipient": None, "amount": None}),
        ({"recipient": 5}, {"recipient": None, "amount": None}),
    ]
    async with served(bank_project) as (url, _):
        for number, (given, seen) in enumerate(cases):
            caller = Caller(url, context=f"m{number}")
            await caller.say("start transfer_money", metadata={"slots": given})
            assert caller.data["slots"] == seen, given
            caller = Caller(url, context=f"d{number}")
            parts = [{"text": "start transfer_money"}, {"data": {"slots": given}}]
            await caller.say("", parts=parts)
            assert caller.data["slots"] == seen, given


async def test_neither_controlled_slots_nor_the_users_words_set_anything(
    bank_project: Project,
) -> None:
    async with served(bank_project) as (url, app):
        caller = Caller(url)
        command = {"command": "set slot", "name": "limit", "value": 9, "extractor": "A2A_CLIENT"}
        await caller.say(
            'start transfer_money\nSLOTS: {"recipient": "eve"}',
            metadata={"slots": {"limit": 9}, "a2a_client_slot_commands": [command]},
        )
        tracker = await app.ctx.agent.tracker_store.retrieve("a2a:anonymous:c")
        assert tracker.get_slot("limit") is None
        assert tracker.get_slot("recipient") is None
        assert "limit" not in str(caller.data)


async def test_a_controlled_slot_that_is_allowed_is_seeded_and_shown(
    bank_project: Project,
) -> None:
    async with served(bank_project, {"controlled_slots": ["limit"]}) as (url, _):
        caller = Caller(url)
        await caller.say("start transfer_money", metadata={"slots": {"limit": 9, "recipient": "a"}})
        assert await caller.say("set amount 5") == "completed"
        assert caller.data["persisted_slots"] == {"limit": 9, "recipient": "a"}


async def test_metadata_reach_the_dialogue_and_come_back_as_the_tasks(
    bank_project: Project,
) -> None:
    async with served(bank_project) as (url, app):
        caller = Caller(url)
        await caller.say("start show_balance", metadata={"sender_id": "orchestrated-7", "tier": 2})
        assert caller.task["metadata"] == {"sender_id": "orchestrated-7", "tier": 2}
        tracker = await app.ctx.agent.tracker_store.retrieve("a2a:anonymous:c")
        said = next(event for event in tracker.events if event.type_name == "user")
        assert said.metadata["tier"] == 2
        assert said.metadata["sender_id"] == "orchestrated-7"


async def test_repair_patterns_speak_to_the_caller_alone_where_they_are_not_offered(
    bank_project: Project,
) -> None:
    async with served(bank_project, {"include_conversation_repair": False}) as (url, _):
        caller = Caller(url)
        assert await caller.say("start show_balance") == "completed"
        assert caller.text == "You have 7 coins.\n\nThat is all."
        assert caller.data["conversation_repair_agent_utterances"]


async def test_b96_d8_no_context_reaches_another_channels_conversation(
    bank_project: Project,
) -> None:
    async with served(bank_project) as (url, app):
        await app.ctx.agent.handle_text("start transfer_money", sender_id="anna")
        caller = Caller(url, context="anna")
        await caller.say("set recipient eve")
        tracker = await app.ctx.agent.tracker_store.retrieve("anna")
        assert tracker.get_slot("recipient") is None
    async with served(bank_project, {"raw_sender_ids": True}) as (url, app):
        await Caller(url, context="bob").say("start transfer_money")
        assert await app.ctx.agent.tracker_store.retrieve("bob") is not None


async def test_an_agents_words_arrive_as_pieces_and_as_a_whole(
    bank_project: Project, model: ModelServer
) -> None:
    model.use(
        [
            *BANK_RULES[:-1],
            {"when": {"model": "agents"}, "answer": "One moment, please wait."},
            BANK_RULES[-1],
        ]
    )
    async with served(bank_project) as (url, _):
        caller = Caller(url)
        state = await caller.say("start ask_clerk")
        from tests.a2a_server.serving import client, send

        async with client(url) as made:
            events = await send(made, "start ask_clerk", context_id="d")
        pieces = [event.artifact_update for event in events if event.HasField("artifact_update")]
        whole = "".join(piece.artifact.parts[0].text for piece in pieces)
        final = events[-1].status_update.status

    assert state == "input_required"
    assert caller.text == "One moment, please wait."
    assert whole == final.message.parts[0].text == "One moment, please wait."
    assert len(pieces) > 1
    assert [piece.last_chunk for piece in pieces] == [False] * (len(pieces) - 1) + [True]
