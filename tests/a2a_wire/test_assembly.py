"""Artifacts and states come in pieces, twice and late; the task is right all the same."""

from __future__ import annotations

import pytest
from a2a.helpers import new_text_message
from a2a.types import (
    Artifact,
    Part,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from google.protobuf.json_format import MessageToDict

from rasa_react_ext.a2a_wire import Assembly, State, parts_text


def chunk(
    text: str, *, artifact: str = "a", append: bool = False, last: bool = False, task: str = "t"
) -> StreamResponse:
    return StreamResponse(
        artifact_update=TaskArtifactUpdateEvent(
            task_id=task,
            context_id="c",
            artifact=Artifact(artifact_id=artifact, parts=[Part(text=text)]),
            append=append,
            last_chunk=last,
        )
    )


def status(state: str, *, task: str = "t") -> StreamResponse:
    value = TaskState.Value(f"TASK_STATE_{state}")
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(
            task_id=task, context_id="c", status=TaskStatus(state=value)
        )
    )


def snapshot(state: str, *texts: str, artifact: str = "a") -> StreamResponse:
    value = TaskState.Value(f"TASK_STATE_{state}")
    parts = [Part(text=text) for text in texts]
    artifacts = [Artifact(artifact_id=artifact, parts=parts)] if parts else []
    return StreamResponse(
        task=Task(id="t", context_id="c", status=TaskStatus(state=value), artifacts=artifacts)
    )


def fold(*responses: StreamResponse) -> Assembly:
    assembly = Assembly()
    for response in responses:
        assembly.add(response)
    return assembly


def texts(assembly: Assembly) -> list[str]:
    return [parts_text(artifact.parts) for artifact in assembly.task.artifacts]


HELLO = (chunk("Hello, "), chunk("world", append=True), chunk("!", append=True, last=True))


def test_b81_chunks_are_joined_to_one_text() -> None:
    assert texts(fold(*HELLO)) == ["Hello, world!"]


@pytest.mark.parametrize("pieces", [("Hello, world!",), ("Hello, ", "world", "!")])
def test_b81_a_whole_task_replaces_what_was_streamed(pieces: tuple[str, ...]) -> None:
    assert texts(fold(*HELLO, snapshot("COMPLETED", *pieces))) == ["Hello, world!"]


def test_b81_interleaved_artifacts_are_kept_apart() -> None:
    assembly = fold(
        chunk("one ", artifact="a"),
        chunk("two ", artifact="b"),
        chunk("more", artifact="a", append=True),
        chunk("more", artifact="b", append=True),
    )
    assert texts(assembly) == ["one more", "two more"]


def test_b81_a_first_chunk_that_comes_again_starts_the_artifact_anew() -> None:
    assert texts(fold(*HELLO, *HELLO)) == ["Hello, world!"]


def test_b81_a_chunk_after_the_last_one_is_left_out() -> None:
    assert texts(fold(*HELLO, chunk("!", append=True, last=True))) == ["Hello, world!"]


def test_late_events_do_not_move_a_finished_task_back() -> None:
    assembly = fold(status("COMPLETED"), status("WORKING"), snapshot("WORKING"), chunk("late"))
    assert assembly.state is State.COMPLETED
    assert texts(assembly) == []


def test_a_whole_task_after_the_end_may_bring_what_was_missing() -> None:
    assembly = fold(status("COMPLETED"), snapshot("COMPLETED", "result"))
    assert texts(assembly) == ["result"]


def test_events_of_another_task_are_left_out() -> None:
    assembly = fold(status("WORKING"), status("COMPLETED", task="other"), chunk("x", task="other"))
    assert assembly.state is State.WORKING
    assert texts(assembly) == []


def test_a_message_is_kept_beside_the_task() -> None:
    message = new_text_message("Which one?")
    assert fold(StreamResponse(message=message)).message == message


def test_what_is_streamed_or_read_loses_the_characters_that_no_database_holds() -> None:
    assembly = Assembly()
    piece = chunk("a\x00b", task="t\x00")
    piece.artifact_update.artifact.metadata["n\x00"] = ["w\x00", 1.0]
    piece.artifact_update.artifact.extensions.append("e\x00")
    piece.artifact_update.artifact.parts.append(Part(raw=b"\x00"))
    assembly.add(piece)
    artifact = assembly.task.artifacts[0]
    assert assembly.task.id == "t"
    assert [part.text for part in artifact.parts] == ["ab", ""]
    assert artifact.parts[1].raw == b"\x00"
    assert MessageToDict(artifact.metadata) == {"n": ["w", 1.0]}
    assert list(artifact.extensions) == ["e"]
    assembly.replace(Task(id="t", status=TaskStatus(message=new_text_message("c\x00"))))
    assert assembly.task.status.message.parts[0].text == "c"
    assembly.add(StreamResponse(message=new_text_message("d\x00")))
    assert assembly.message is not None
    assert assembly.message.parts[0].text == "d"
