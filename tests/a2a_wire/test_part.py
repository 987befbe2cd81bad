"""Texts, data and files of parts, and the message that goes out."""

from __future__ import annotations

import pytest
from a2a.types import Message, Part, Role
from google.protobuf.json_format import MessageToDict, ParseDict

from rasa_react_ext.a2a_wire import (
    artifact_text,
    data_of,
    message_text,
    outbound_message,
    parts_text,
    structured_entries,
)


def data(value: object) -> Part:
    part = Part()
    ParseDict(value, part.data)
    return part


URL = Part(url="https://example.com/a.pdf", filename="a.pdf", media_type="application/pdf")
RAW = Part(raw=b"abc", filename="b.bin")


def test_texts_and_file_addresses_are_shown_one_per_line() -> None:
    parts = [Part(text="See:"), data({"x": 1}), URL, RAW]
    assert parts_text(parts) == "See:\nFile: https://example.com/a.pdf\nFile: b.bin"


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["Hello, ", "world", "!"], "Hello, world!"),
        (["inter", "national", " law."], "international law."),
        (["3", ".", "14"], "3.14"),
        (["One is here.", " Two is there."], "One is here. Two is there."),
        (["The first part.", "The second part."], "The first part.\nThe second part."),
        (["Found these:", "- a", "- b"], "Found these:\n- a- b"),
    ],
)
def test_b81_pieces_of_an_artifact_are_joined_and_paragraphs_kept_apart(
    pieces: list[str], shown: str
) -> None:
    assert artifact_text([Part(text=piece) for piece in pieces]) == shown


def test_files_of_an_artifact_stand_on_lines_of_their_own() -> None:
    parts = [Part(text="See"), URL, Part(text="and more")]
    assert artifact_text(parts) == "See\nFile: https://example.com/a.pdf\nand more"


@pytest.mark.parametrize("value", [{"n": 3, "f": 0.5, "l": [1, None]}, [1, 2], "s", True, None])
def test_data_keeps_its_json_types(value: object) -> None:
    assert data_of(data(value)) == value


def test_structured_entries_have_the_documented_shape() -> None:
    entries = structured_entries("cars", [[Part(text="x"), data({"a": 1})], [URL, RAW, data([1])]])
    assert entries == [
        {"name": "cars_0_1", "type": "data", "result": {"a": 1}},
        {
            "name": "cars_1_0",
            "type": "file",
            "result": {
                "uri": "https://example.com/a.pdf",
                "name": "a.pdf",
                "mime_type": "application/pdf",
            },
        },
        {
            "name": "cars_1_1",
            "type": "file",
            "result": {"bytes": "YWJj", "name": "b.bin", "mime_type": None},
        },
        {"name": "cars_1_2", "type": "data", "result": {"value": [1]}},
    ]


def test_an_outbound_message_carries_text_slots_ids_and_metadata() -> None:
    message = outbound_message(
        "hi", slots={"n": 2}, metadata={"tenant": "x"}, context_id="c", task_id="t"
    )
    assert isinstance(message, Message)
    assert (message.role, message.context_id, message.task_id) == (Role.ROLE_USER, "c", "t")
    assert message_text(message) == "hi"
    assert data_of(message.parts[1]) == {"slots": {"n": 2}}
    assert MessageToDict(message.metadata) == {"tenant": "x"}


def test_every_message_has_an_id_of_its_own() -> None:
    ids = {outbound_message("hi", slots={}, metadata={}).message_id for _ in range(3)}
    assert len(ids) == 3
