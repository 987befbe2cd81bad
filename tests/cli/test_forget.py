"""`rasa-react forget` deletes one conversation, and only after somebody said so."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from rasa_react_ext.cli.main import main
from rasa_react_ext.host.observe.trace_path import earlier_trace_path, trace_path
from rasa_react_ext.store import PersonalData
from tests.cli.store import CONVERSATION, fill, within


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The filled store of a project, in whose folder we are, with a record of two conversations."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "endpoints.yml").write_text(
        "rasa_react_ext: {store: s.db, trace_folder: traces}", encoding="utf-8"
    )
    (tmp_path / "traces").mkdir()
    for conversation in (CONVERSATION, "other"):
        trace_path(tmp_path / "traces", conversation).write_text("{}", encoding="utf-8")
    trace_path(tmp_path / "traces", CONVERSATION).with_suffix(".html").write_text("page")
    within(tmp_path / "s.db", fill)
    return tmp_path / "s.db"


def _left(store: Path) -> int:
    counts = within(store, lambda database: PersonalData(database, CONVERSATION).count())
    return sum(counts.values())


def test_rows_of_every_kind_are_told_and_deleted_with_the_record(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["forget", CONVERSATION, "--yes"]) == 0
    shown = capsys.readouterr()
    assert "     2  remote tasks\n" in shown.out
    assert "     1  reports of remote agents\n" in shown.out
    assert "     1  served tasks\n" in shown.out
    assert "calls in the journal" not in shown.out
    assert "rows 9, files 2." in shown.out
    assert "3 of the tasks have not ended." in shown.err
    assert _left(store) == 0
    assert [file.name for file in Path("traces").iterdir()] == ["other.jsonl"]


def test_nothing_is_deleted_where_nobody_can_be_asked(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path(os.devnull).open(encoding="utf-8") as nobody:
        monkeypatch.setattr(sys, "stdin", nobody)
        assert main(["forget", CONVERSATION]) == 2
    assert "nothing was deleted: add --yes" in capsys.readouterr().err
    assert _left(store) == 9
    assert trace_path(Path("traces"), CONVERSATION).is_file()


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 130, 9)])
def test_a_person_in_a_terminal_is_asked(
    store: Path, answer: str, code: int, left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = pty.openpty()
    try:
        with os.fdopen(theirs, "r", encoding="utf-8") as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            os.write(mine, answer.encode())
            assert main(["forget", CONVERSATION]) == code
    finally:
        os.close(mine)
    assert _left(store) == left


@pytest.mark.parametrize("name", ["../we ird", ".hidden"])
def test_a_record_whose_name_began_with_a_dot_before_is_deleted_too(
    store: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {trace_path(Path("traces"), name), earlier_trace_path(Path("traces"), name)}
    assert len(paths) == 2
    for path in paths:
        path.write_text("{}", encoding="utf-8")
    assert main(["forget", name, "--yes"]) == 0
    assert "rows 0, files 2." in capsys.readouterr().out
    assert not any(path.exists() for path in paths)


def test_a_conversation_nobody_knows_is_told(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["forget", "nobody", "--yes"]) == 0
    assert capsys.readouterr().out == "Nothing is stored about 'nobody'.\n"


def test_a_folder_of_records_is_named_beside_another_store(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["forget", CONVERSATION, "--store", "s.db", "--yes"]) == 0
    assert "rows 9, files 0." in capsys.readouterr().out
    given = ["--store", "s.db", "--traces", "traces", "--yes"]
    assert main(["forget", CONVERSATION, *given]) == 0
    assert "rows 0, files 2." in capsys.readouterr().out


@pytest.mark.parametrize("folder", ["nofolder", "s.db"])
def test_a_folder_of_records_that_is_none_is_refused_and_nothing_deleted(
    store: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _left(store)
    assert main(["forget", CONVERSATION, "--yes", "--traces", folder]) == 3
    assert f"there is no such folder {folder!r}" in capsys.readouterr().err
    assert _left(store) == before
    assert trace_path(Path("traces"), CONVERSATION).is_file()


def test_without_a_store_nothing_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["forget", "anna", "--yes"]) == 3
    assert "there is no such file" in capsys.readouterr().err
