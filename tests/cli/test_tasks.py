"""`rasa-react tasks` as a person and as a program see it."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from rich.console import Console

from rasa_react_ext.cli.main import main
from rasa_react_ext.cli.task_table import OpenWork, show_work
from rasa_react_ext.store import (
    Database,
    DeadLetters,
    Inbox,
    RemoteTask,
    RemoteTasks,
    ServedTasks,
)
from tests.cli.store import CONVERSATION, fill, within
from tests.store.served import serve_a_task


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The filled store of a project, in whose folder we are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STORE_FOLDER", "state")
    (tmp_path / "endpoints.yml").write_text("rasa_react_ext: {store: '${STORE_FOLDER}/s.db'}")
    file = tmp_path / "state" / "s.db"
    within(file, fill)
    return file


def _listed(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["tasks", "list", "--json", *options]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    told: dict[str, Any] = json.loads(shown.out)
    return told


def test_json_holds_open_tasks_and_dead_letters_of_the_projects_store(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = _listed(capsys)
    assert [(task["id"], task["state"]) for task in told["remote"]] == [
        ("k1", "background"),
        ("k2", "waiting"),
    ]
    assert told["remote"][0]["agent_task_id"] == "at-1"
    assert told["remote"][0]["reported_at"] == "1970-01-01T00:00:01+00:00"
    [served] = told["served"]
    assert (served["id"], served["state"]) == ("served-1", "input-required")
    assert (served["caller"], served["conversation"]) == ("shop", CONVERSATION)
    report, push = told["dead_letters"]
    assert (report["task"], report["error"]) == ("k1", "no lock")
    assert (push["task"], push["error"]) == ("served-1", "answered 500")
    assert told["more"] is False


def test_another_store_is_named_on_the_command_line(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.db"
    within(other, lambda database: serve_a_task(database, "elsewhere"))
    told = _listed(capsys, "--store", str(other))
    assert [task["id"] for task in told["served"]] == ["elsewhere"]
    assert told["remote"] == []


def test_a_limit_says_that_there_is_more(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = _listed(capsys, "--limit", "1")
    assert [len(told[kind]) for kind in ("remote", "served", "dead_letters")] == [1, 1, 2]
    assert told["more"] is True


def test_other_programs_get_a_line_for_each_row(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Tasks at external agents (2)"
    assert lines[1].split("\t")[:5] == [
        "k1",
        "broker",
        CONVERSATION,
        "background",
        "Half [done].",
    ]
    assert "Dead letters (2)" in lines


def test_a_terminal_gets_tables_in_colour(store: Path) -> None:
    async def read(database: Database) -> OpenWork:
        return OpenWork(
            remote=await RemoteTasks(database).open(),
            served=await ServedTasks(database).open(9),
            letters=await DeadLetters(database).list(),
            more=True,
        )

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=150, highlight=False)
    show_work(console, within(store, read))
    shown = screen.getvalue()
    assert "\x1b[31m" in shown
    assert "Half [done]." in shown
    assert "served-1" in shown
    assert "There is more: see --limit." in shown


def test_ids_stay_whole_in_a_narrow_terminal(tmp_path: Path) -> None:
    key = "0d9f0c3b6f4e4a0f8d3f6f0a2b1c4d5e"
    row = RemoteTask(key=key, conversation="a2a:shop:" + "c" * 60, agent="portfolio_report")
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, highlight=False)
    show_work(console, OpenWork(remote=[row], served=[], letters=[], more=False))
    assert key in screen.getvalue()


def test_an_empty_store_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "empty.db"
    within(file, lambda database: DeadLetters(database).list())
    assert main(["tasks", "list", "--store", str(file)]) == 0
    assert capsys.readouterr().out.startswith("Nothing is open")


def test_one_dead_letter_is_replayed_by_its_id(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report, push = _listed(capsys)["dead_letters"]
    assert main(["tasks", "replay", report["id"]]) == 0
    assert capsys.readouterr().out == "1 dead letter put back into the queue.\n"
    assert [letter["id"] for letter in _listed(capsys)["dead_letters"]] == [push["id"]]
    assert within(store, lambda database: Inbox(database).counts()) == {"unread": 1, "dead": 0}


def test_all_dead_letters_are_replayed_but_those_whose_task_is_closed(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    within(store, lambda database: RemoteTasks(database).close("k1"))
    assert main(["tasks", "replay", "--all"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "1 dead letter put back into the queue.\n"
    assert "was left: its task takes no report any more." in shown.err


def test_a_served_task_that_no_server_cancels_in_time_is_1(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", "cancel", "served-1", "--wait", "0.1"]) == 1
    assert "no server has done so within 0.1 s" in capsys.readouterr().err
    assert _listed(capsys)["served"][0]["state"] == "input-required, cancel asked for"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["cancel", "nobody"], 1, "There is no task 'nobody'."),
        (["replay", "inbox-99"], 1, "There is no dead letter 'inbox-99', so nothing was changed."),
        (["replay"], 2, "Name dead letters, or write --all."),
        (["replay", "--all", "inbox-1"], 2, "Give only one: the ids of dead letters, or --all."),
        (["list", "--limit", "0"], 2, "0 is not in the range"),
        (["list", "--store", "none.db"], 3, "there is no store at 'none.db' yet."),
        (["list", "--store", "state"], 3, "'state' is a folder."),
        (["list", "--store", "endpoints.yml"], 3, "endpoints.yml: this is no SQLite database."),
        (["list", "--store", "mysql://a:secret@b/c"], 3, "command line: --store: "),
        (["list", "--store", "postgresql://bot:secret@127.0.0.1:1/x"], 5, "cannot be used"),
    ],
)
def test_bad_input_is_one_message_and_a_code(
    store: Path, arguments: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tasks", *arguments]) == code
    shown = capsys.readouterr().err
    assert shown.startswith("Error: ")
    assert said in shown
    assert shown.count("\n") == 1
    assert "secret" not in shown


@pytest.mark.parametrize(
    ("endpoints", "said"),
    [
        (None, "endpoints.yml: file: there is no such file."),
        (
            "",
            "yet. That is the usual place, because the key is not set. Run this in the project's",
        ),
        (
            "rasa_react_ext: {store: s.db}",
            "endpoints.yml: rasa_react_ext: store: there is no store at 's.db' yet. Run this",
        ),
        ("rasa_react_ext: {store: '${NOT_SET_AT_ALL}'}", "'NOT_SET_AT_ALL' is not set."),
        ("rasa_react_ext: [1]", "a mapping is needed there."),
        ("{", "it cannot be read"),
    ],
)
def test_a_folder_without_a_store_is_one_message_and_3(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    endpoints: str | None,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if endpoints is not None:
        (tmp_path / "endpoints.yml").write_text(endpoints)
    assert main(["tasks", "list"]) == 3
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert not list(tmp_path.glob(".rasa"))


def test_a_task_that_has_ended_is_not_cancelled_again(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    within(store, lambda database: serve_a_task(database, "over", state="completed"))
    within(store, lambda database: RemoteTasks(database).close("k2"))
    for task in ("over", "k2", "at-2"):
        assert main(["tasks", "cancel", task]) == 1
        assert f"Task {task!r} has ended already." in capsys.readouterr().err


def test_a_store_that_may_only_be_read_is_told_with_its_file(
    store: Path, open_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = open_folder / "s.db"
    file.write_bytes(store.read_bytes())
    file.chmod(0o444)
    with _as_nobody():
        assert main(["tasks", "list", "--store", str(file)]) == 6
    shown = capsys.readouterr().err
    assert f"'{file}' cannot be written: Permission denied. Run this as the user" in shown


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter and nobody else may write."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextlib.contextmanager
def _as_nobody() -> Iterator[None]:
    """Without the rights of root, where we have them."""
    before = os.geteuid()
    if before:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)
