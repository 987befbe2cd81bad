"""Callers see nothing of each other: another's task is as unknown as one that never was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.a2a_server.serving import rpc, server, state_of
from tests.a2a_server.test_once import body

KEYS = {"auth": {"api_key": {"keys": {"anna": "key-a", "bert": "key-b"}}}}
ANNA = {"X-API-Key": "key-a"}
BERT = {"X-API-Key": "key-b"}
PUSH = {"push_notifications_enabled": True}


def calls(task_id: str) -> list[tuple[str, dict[str, Any]]]:
    config = {"taskId": task_id, "id": "p", "url": "http://192.0.2.1/hook"}
    return [
        ("GetTask", {"id": task_id}),
        ("CancelTask", {"id": task_id}),
        ("SubscribeToTask", {"id": task_id}),
        ("CreateTaskPushNotificationConfig", config),
        ("GetTaskPushNotificationConfig", {"taskId": task_id, "id": "p"}),
        ("ListTaskPushNotificationConfigs", {"taskId": task_id}),
        ("DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": "p"}),
        ("SendMessage", body("hello", "x", taskId=task_id)),
        ("SendStreamingMessage", body("hello", "y", taskId=task_id)),
        ("SendMessage", body("hello", "z", taskId=task_id, contextId="c")),
    ]


async def test_b96_a_foreign_task_is_answered_like_an_unknown_one(store: str) -> None:
    async with server(store, **KEYS, **PUSH) as served:
        _, asked = await rpc(
            served.url, "SendMessage", body("ask", "m", contextId="c"), headers=ANNA
        )
        task_id = asked["result"]["task"]["id"]
        for (method, foreign), (_, unknown) in zip(calls(task_id), calls("nothing"), strict=True):
            theirs = await rpc(served.url, method, foreign, headers=BERT)
            nobodys = await rpc(served.url, method, unknown, headers=BERT)

            assert theirs[1]["error"]["code"] == -32001, method
            assert str(theirs).replace(task_id, "?") == str(nobodys).replace("nothing", "?")
        _, listed = await rpc(served.url, "ListTasks", {}, headers=BERT)
        assert listed["result"]["tasks"] == []
        _, still = await rpc(served.url, "GetTask", {"id": task_id}, headers=ANNA)
        assert state_of(still["result"]) == "input_required"


async def test_b96_a_context_id_of_another_caller_is_another_conversation(store: str) -> None:
    async with server(store, **KEYS) as served:
        for headers in (ANNA, BERT):
            await rpc(served.url, "SendMessage", body("ask", "m", contextId="c"), headers=headers)

        conversations = [turn.conversation for turn in served.bot.runs]
        assert conversations == ["a2a:anna:c", "a2a:bert:c"]


@pytest.mark.parametrize(
    ("caller", "context", "raw", "conversation"),
    [
        ("anna", "c", False, "a2a:anna:c"),
        ("anna:b", "c", False, "a2a:anna%3Ab:c"),
        ("anna", "b:c", False, "a2a:anna:b:c"),
        ("anna", "c", True, "c"),
    ],
)
def test_d8_a_conversation_is_named_by_caller_and_context(
    caller: str, context: str, raw: bool, conversation: str
) -> None:
    from rasa_react_ext.a2a_server.identity import conversation_of

    assert conversation_of(caller, context, raw=raw) == conversation


def test_d8_long_names_stay_distinct_and_short_enough_for_every_tracker_store() -> None:
    from rasa_react_ext.a2a_server.identity import conversation_of

    names = {conversation_of("a" * 200, f"{'c' * 250}{n}") for n in range(3)}
    assert len(names) == 3
    assert all(len(name) <= 255 for name in names)
