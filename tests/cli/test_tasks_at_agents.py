"""`rasa-react tasks cancel` stops a task at its agent, by the definition in the project."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from rasa_react_ext.cli.main import main
from rasa_react_ext.store import Inbox, RemoteTask, RemoteTasks, Report
from tests.a2a_client.remote import Remote, remote
from tests.a2a_client.steps import begun
from tests.cli.store import within
from tests.host.project import hosts_own_warnings

pytestmark = pytest.mark.host

BROKER = "sub_agents/broker/config.yml"
WHOLE = "agent: {name: broker, protocol: A2A, description: d}\nconfiguration: {max_retries: 0"
ENDPOINTS = "rasa_react_ext: {store: s.db}\nmcp_servers: {a: b}\n"


@pytest.fixture
def broker() -> Iterator[Remote]:
    """The agent."""
    with remote() as agent:
        yield agent


@pytest.fixture
def store(broker: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of a project with the agent, in whose folder we are."""
    monkeypatch.chdir(tmp_path)
    agent = {
        "agent": {"name": "broker", "protocol": "A2A", "description": "Trades."},
        "configuration": {"agent_card": broker.card_url, "timeout": 5, "max_retries": 0},
    }
    files = {
        "config.yml": {"policies": [{"name": "FlowPolicy"}]},
        "endpoints.yml": {"rasa_react_ext": {"store": "s.db"}},
        "sub_agents/broker/config.yml": agent,
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(yaml.safe_dump(content), encoding="utf-8")
    return tmp_path / "s.db"


def _begin(broker: Remote, store: Path, **row: object) -> str:
    """A task that works until it is cancelled, noted in the store; the agent's name of it."""
    task_id = asyncio.run(begun(broker))
    values = {"key": "k", "conversation": "anna", "agent": "broker", "task_id": task_id, **row}
    within(store, lambda database: RemoteTasks(database).add(RemoteTask(**values)))  # type: ignore[arg-type]
    return task_id


def _cancel(*arguments: str) -> int:
    with hosts_own_warnings():
        return main(["tasks", "cancel", *arguments])


def _row(store: Path) -> RemoteTask:
    row = within(store, lambda database: RemoteTasks(database).get("k"))
    assert row is not None
    return row


def _reports(store: Path) -> list[Report]:
    return within(store, lambda database: Inbox(database).unread("k"))


def test_a_task_that_waits_is_cancelled_at_its_agent_and_closed(
    broker: Remote, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task_id = _begin(broker, store)
    assert _cancel(task_id) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("Cancelled task k of agent broker.\n", "")
    assert broker.done["cancelled"] == 1
    assert _row(store).closed
    assert _reports(store) == []


def test_a_task_in_the_background_stays_open_until_a_server_has_told_its_conversation(
    broker: Remote, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _begin(broker, store, background=True, deadline=9e9)
    assert _cancel("k", "--wait", "0") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "Task k of agent broker is still open: no server has ended it within 0 s. The next one "
        "that runs on this store will, or do not wait for its report: --force.\n"
    )
    assert broker.done["cancelled"] == 1
    assert (_row(store).closed, _row(store).deadline) == (False, 9e9)
    (report,) = _reports(store)
    assert b"cancelled by an operator" in report.body


def test_an_agent_that_cannot_be_told_is_5_unless_forced(
    broker: Remote, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _begin(broker, store)
    assert broker.served is not None
    broker.fail_next["CancelTask"] = [503, 503, 503, 503]
    assert _cancel("k") == 5
    shown = capsys.readouterr()
    assert shown.err.startswith("Error: Agent 'broker' could not be told to stop task")
    assert shown.err.count("\n") == 1
    assert not _row(store).closed
    assert _cancel("k", "--force") == 0
    assert "It is ended here all the same." in capsys.readouterr().err
    assert _row(store).closed


def test_a_task_that_is_forced_is_ended_by_the_next_server_whatever_it_reports(
    broker: Remote, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _begin(broker, store, background=True, deadline=9e9)
    broker.fail_next["CancelTask"] = [503, 503, 503, 503]
    assert _cancel("k", "--force", "--wait", "0") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "is still open" in shown.err
    assert (_row(store).deadline, _row(store).checked_at) == (0, 0)


@pytest.mark.parametrize(
    ("file", "content", "code", "said"),
    [
        (None, "", 3, "no external agent of this name"),
        (BROKER, "agent: [", 3, f"{BROKER}:2: "),
        (BROKER, "", 3, f"{BROKER}: this file is empty. "),
        (BROKER, "5", 3, f"{BROKER}:1: this file must hold keys. "),
        (BROKER, "agent: {name: broker, protocol: A2A}", 3, f"{BROKER}:1: agent: description: "),
        (BROKER, f"{WHOLE}, timeout: soon}}", 3, f"{BROKER}:2: configuration: timeout: "),
        (BROKER, f"{WHOLE}, agent_card: '${{NO_CARD}}'}}", 3, "agent_card: there is no such file"),
        ("endpoints.yml", ENDPOINTS, 3, "endpoints.yml:2: mcp_servers: this must be a list. "),
    ],
)
def test_a_project_that_does_not_define_the_agent_is_one_message_with_file_key_and_fix(
    store: Path,
    file: str | None,
    content: str,
    code: int,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = RemoteTask(key="k", conversation="anna", agent="broker" if file else "gone", task_id="t")
    within(store, lambda database: RemoteTasks(database).add(row))
    if file:
        Path(file).write_text(content, encoding="utf-8")
    assert _cancel("k") == code
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert not _row(store).closed
