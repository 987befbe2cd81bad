"""Push bodies in every form that is seen."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rasa_react_ext.a2a_wire import data_of, read_push, read_state

CURRENT_TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
ARTIFACT = {"artifactId": "a", "parts": [{"text": "x"}]}
OLDER_TASK = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}
OLDER_STATUS = {
    "kind": "status-update",
    "taskId": "t",
    "contextId": "c",
    "final": False,
    "status": {"state": "working"},
}


@pytest.mark.parametrize(
    "body",
    [
        {"task": CURRENT_TASK},
        CURRENT_TASK,
        {"statusUpdate": {"taskId": "t", "status": {"state": "TASK_STATE_WORKING"}}},
        {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}},
        OLDER_TASK,
        OLDER_STATUS,
        {"jsonrpc": "2.0", "id": "1", "result": {"task": CURRENT_TASK}},
        {"jsonrpc": "2.0", "id": "1", "result": OLDER_TASK},
        {"jsonrpc": "2.0", "method": "push", "params": OLDER_STATUS},
        {"task": {**CURRENT_TASK, "novelty": 1}},
    ],
)
def test_every_form_of_a_state_is_read(body: dict[str, Any]) -> None:
    response = read_push(json.dumps(body))
    event = response.task if response.HasField("task") else response.status_update
    assert read_state(event.status.state) == "working"
    assert (event.id if response.HasField("task") else event.task_id) == "t"


@pytest.mark.parametrize(
    "body",
    [
        {"artifactUpdate": {"taskId": "t", "artifact": ARTIFACT}},
        {"taskId": "t", "artifact": ARTIFACT},
        {
            "kind": "artifact-update",
            "taskId": "t",
            "contextId": "c",
            "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x"}]},
        },
    ],
)  # fmt: skip
def test_every_form_of_an_artifact_is_read(body: dict[str, Any]) -> None:
    update = read_push(json.dumps(body)).artifact_update
    assert (update.task_id, update.artifact.parts[0].text) == ("t", "x")


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "3", "{}", '{"jsonrpc": "2.0"}', '{"task": 3}', '{"task": {"id": 3}}',
             '{"kind": "task"}', '{"kind": "song"}', '{"a": ' * 3000]
)  # fmt: skip
def test_anything_else_is_refused(body: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_push(body)


def test_characters_that_no_database_holds_are_left_out_wherever_they_stand() -> None:
    message = {
        "messageId": "m\x00",
        "role": "ROLE_AGENT",
        "parts": [{"text": "a\x00b\ud800"}, {"data": {"k\x00": ["v\x00"]}}],
        "metadata": {"n\x00": "w\x00"},
    }
    status = {"state": "TASK_STATE_WORKING", "message": message}
    body = json.dumps({"task": {"id": "t\x00", "contextId": "c\x00", "status": status}})
    task = read_push(body).task
    said = task.status.message
    assert (task.id, task.context_id, said.message_id) == ("t", "c", "m")
    assert said.parts[0].text == "ab"
    assert data_of(said.parts[1]) == {"k": ["v"]}
    assert dict(said.metadata) == {"n": "w"}
    older = {"kind": "task", "id": "t\x00", "contextId": "c", "status": {"state": "working"}}
    assert read_push(json.dumps(older)).task.id == "t"
