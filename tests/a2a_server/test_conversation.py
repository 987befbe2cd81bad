"""The public clients complete conversations on every binding and version."""

from __future__ import annotations

import pytest
from a2a.client import Client
from a2a.types import CancelTaskRequest, GetTaskRequest, ListTasksRequest
from a2a.utils.constants import TransportProtocol

from tests.a2a_server.serving import client, send, server, task_of

BINDINGS = [
    (TransportProtocol.JSONRPC, "1.0"),
    (TransportProtocol.JSONRPC, "0.3"),
    (TransportProtocol.HTTP_JSON, "1.0"),
    (TransportProtocol.HTTP_JSON, "0.3"),
]


def text_of(task: object) -> str:
    parts = task.status.message.parts  # type: ignore[attr-defined]
    return "".join(part.text for part in parts)


@pytest.mark.parametrize(("binding", "version"), BINDINGS)
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "send"])
async def test_a_conversation_of_two_turns_is_one_task(
    store: str, binding: TransportProtocol, version: str, streaming: bool
) -> None:
    async with (
        server(store) as served,
        client(served.url, binding, version=version, streaming=streaming) as made,
    ):
        asked = await send(made, "ask", context_id="c")
        task = task_of(asked)
        events = await send(made, "hello", task_id=task.id, context_id="c")
        read = await made.get_task(GetTaskRequest(id=task.id))

        assert read.status.state == 3
        assert text_of(read) == "Hello."
        assert [part.text for item in read.history if item.role == 1 for part in item.parts] == [
            "ask",
            "hello",
        ]
        assert events
        assert [turn.conversation for turn in served.bot.runs] == ["a2a:anonymous:c"] * 2


@pytest.mark.parametrize(("binding", "version"), BINDINGS)
async def test_b101_a_stream_and_a_plain_send_give_the_same_text(
    store: str, binding: TransportProtocol, version: str
) -> None:
    async with server(store) as served:
        async with client(served.url, binding, version=version) as made:
            events = await send(made, "pieces", context_id="a")
            streamed = await made.get_task(GetTaskRequest(id=task_of(events).id))
        async with client(served.url, binding, version=version, streaming=False) as made:
            plain = task_of(await send(made, "pieces", context_id="b"))

    chunks = [event.artifact_update for event in events if event.HasField("artifact_update")]
    assert [(chunk.append, chunk.last_chunk) for chunk in chunks] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    assert len({chunk.artifact.artifact_id for chunk in chunks}) == 1
    assert all(len(chunk.artifact.parts) == 1 for chunk in chunks)
    assert "".join(chunk.artifact.parts[0].text for chunk in chunks) == "One two three."
    assert [part.text for part in streamed.artifacts[0].parts] == ["One two three."]
    assert text_of(streamed) == text_of(plain) == "One two three.\n\nPick one."


@pytest.mark.parametrize("binding", [TransportProtocol.JSONRPC, TransportProtocol.HTTP_JSON])
async def test_tasks_are_listed_in_pages_the_last_changed_first(
    store: str, binding: TransportProtocol
) -> None:
    async with server(store) as served, client(served.url, binding) as made:
        ids = [task_of(await send(made, "hello", context_id=f"c{n}")).id for n in range(5)]
        first = await made.list_tasks(ListTasksRequest(page_size=3))
        second = await made.list_tasks(
            ListTasksRequest(page_size=3, page_token=first.next_page_token)
        )
        one = await made.list_tasks(ListTasksRequest(context_id="c2"))

    assert [task.id for page in (first, second) for task in page.tasks] == ids[::-1]
    assert first.total_size == 5
    assert not second.next_page_token
    assert [task.id for task in one.tasks] == [ids[2]]


@pytest.mark.parametrize(("binding", "version"), BINDINGS)
async def test_b95_a_parked_task_is_canceled_and_its_flow_left(
    store: str, binding: TransportProtocol, version: str
) -> None:
    async with server(store) as served, client(served.url, binding, version=version) as made:
        task = task_of(await send(made, "ask", context_id="c"))
        canceled = await made.cancel_task(CancelTaskRequest(id=task.id))

        assert canceled.status.state == 5
        assert served.bot.left == ["a2a:anonymous:c"]
        await _is_refused(made, task.id)


async def _is_refused(made: Client, task_id: str) -> None:
    with pytest.raises(Exception, match=r"ended as canceled|cannot be canceled|400"):
        await made.cancel_task(CancelTaskRequest(id=task_id))
