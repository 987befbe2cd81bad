from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing import Cassette
from rasa_react_ext.testing.cassette import Entry, RecordedAnswer, RecordedRequest
from tests.testing.bodies import body, called, result, system, user

TEXTS = st.text(st.characters(codec="utf-8"))
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


def _entry(body: Any, answer: Any = "ok") -> Entry:
    return Entry(
        request=RecordedRequest(path="/chat/completions", body=body),
        answer=RecordedAnswer(body=answer),
    )


# Writing files on a busy machine is slow; that is not what is tested.
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(VALUES, VALUES | st.binary(), st.none() | st.lists(TEXTS, max_size=3))
def test_what_is_written_is_read_again(asked: Any, answer: Any, chunks: list[str] | None) -> None:
    entry = Entry(
        request=RecordedRequest(path="/chat/completions", body=asked),
        answer=RecordedAnswer(
            status=429, body=answer, chunks=None if chunks is None else tuple(chunks), cut=True
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "001-00000000.yml")
        entry.write(path)
        assert Entry.read(path) == entry
        assert [file.name for file in Path(folder).iterdir()] == [path.name]


@pytest.mark.parametrize(
    "text", ["2026-02-19", "yes", "1.0", "null", "~", "=", "0x1F", "12:30:45", "\ud83d"]
)
def test_a_text_that_yaml_takes_for_something_else_stays_a_text(tmp_path: Path, text: str) -> None:
    _entry({"a": text}).write(tmp_path / "001.yml")
    assert Entry.read(tmp_path / "001.yml").request.body == {"a": text}


def test_a_file_is_readable(tmp_path: Path) -> None:
    asked = body(system("Be kind.\nBe brief."), user("Grüße!"))
    name = Cassette(tmp_path).add(_entry(asked, {"choices": []}), 7)
    assert name.startswith("007-")
    assert (tmp_path / name).read_text(encoding="utf-8") == (
        "# user: 'Grüße!', step 1, model some-model\n"
        "version: 1\n"
        "request:\n"
        "  path: /chat/completions\n"
        "  body:\n"
        "    model: some-model\n"
        "    messages:\n"
        "    - role: system\n"
        "      content: |-\n"
        "        Be kind.\n"
        "        Be brief.\n"
        "    - role: user\n"
        "      content: Grüße!\n"
        "answer:\n"
        "  body:\n"
        "    choices: []\n"
    )


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (
            body(user("hi"), called(("a", "find")), result("a", "found")),
            "tool 'find': 'found', step 2, model some-model",
        ),
        ({"model": "small", "input": "x"}, "POST /chat/completions, model small"),
        (None, "POST /chat/completions"),
    ],
)
def test_the_first_line_tells_what_was_asked(tmp_path: Path, asked: Any, told: str) -> None:
    _entry(asked).write(tmp_path / "001.yml")
    assert (tmp_path / "001.yml").read_text().splitlines()[0] == f"# {told}"


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("version: 2\nrequest: {path: /a}\nanswer: {}", "version"),
        ("version: 1\nrequest: {path: /a, bdy: 1}\nanswer: {}", "request.bdy"),
        ("version: 1\nrequest: {path: /a}\nanswer: {status: often}", "answer.status"),
        ("", ""),
        ("- 1", "(top level)"),
        ("a: [", "(top level)"),
        ("<<<<<<< ours\nversion: 1", "(top level)"),
    ],
)
def test_a_broken_file_is_refused_by_file_and_key(tmp_path: Path, written: str, key: str) -> None:
    (tmp_path / "001-00000000.yml").write_text(written)
    with pytest.raises(ConfigurationError) as refusal:
        Cassette(tmp_path)
    assert refusal.value.key == key
    assert refusal.value.file.endswith("001-00000000.yml")
    assert "\n" not in str(refusal.value)


def test_a_cassette_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tape").write_text("")
    with pytest.raises(ConfigurationError, match="this is a file"):
        Cassette(tmp_path / "tape")


def test_two_recordings_beside_each_other_touch_no_common_file(tmp_path: Path) -> None:
    first, second = Cassette(tmp_path), Cassette(tmp_path)
    one = first.add(_entry(body(user("one"))), first.take_place())
    two = second.add(_entry(body(user("two"))), second.take_place())
    assert one != two
    merged = Cassette(tmp_path)
    assert set(merged.entries) == {one, two}
    assert merged.take_place() == 2
