"""`rasa-react check` as a person and as CI see it."""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from demo.backend import ROOT
from demo.market import running_market
from demo.reports import running_house
from rasa_react_ext.cli.failure import ExitCode
from rasa_react_ext.cli.main import main
from rasa_react_ext.cli.report import show
from tests.sample import SAMPLE_PARTS

SECONDS = 90
LONG = "/".join(["folder"] * 20)
PROMPT = "You are [one] specialist." * 9


@pytest.fixture(scope="module")
def market() -> Iterator[str]:
    with running_market() as url:
        yield url


@pytest.fixture(scope="module")
def reports_card() -> Iterator[str]:
    with running_house() as url:
        yield url


@pytest.fixture
def sample(market: str, reports_card: str, tmp_path: Path) -> Path:
    """A copy of the sample with what it needs in a file .env, as the host's command line reads."""
    for part in SAMPLE_PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, tmp_path / part)
    (tmp_path / ".env").write_text(
        f"WEALTH_DESK_MARKET_URL={market}\n"
        f"WEALTH_DESK_REPORTS_CARD={reports_card}\n"
        "WEALTH_DESK_URL=http://127.0.0.1:5005\n"
        "WEALTH_DESK_COMMANDS_MODEL=commands\n"
        "WEALTH_DESK_AGENTS_MODEL=gpt-4o\n"
        "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n"
        "OPENAI_API_KEY=offline\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def own_environment() -> Iterator[None]:
    """What a file .env brings is gone after the test."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def test_json_is_all_that_is_printed_and_needs_neither_licence_nor_model(
    sample: Path, forked: list[str]
) -> None:
    done = _check(forked, sample, "--json")
    assert (done.returncode, done.stderr) == (ExitCode.DONE, "")
    told = json.loads(done.stdout)
    assert told["findings"] == []
    assert [agent["name"] for agent in told["agents"]] == [
        "advisor_booking",
        "portfolio_report",
        "risk_report",
        "stock_explorer",
    ]
    assert told["agents"][0]["servers"] == ["market: ready"]
    assert "ready, Reporting house" in told["agents"][1]["servers"][0]
    assert not list(sample.glob("models/*"))


@pytest.mark.usefixtures("own_environment")
def test_errors_are_the_exit_code_and_lines_that_an_editor_can_jump_to(
    sample: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = sample / "config.yml"
    config.write_text(
        config.read_text(encoding="utf-8").rstrip() + "\n    max_stepz: 4\n", encoding="utf-8"
    )
    monkeypatch.chdir(sample)
    assert main(["check", "--offline"]) == ExitCode.FOUND
    shown = capsys.readouterr()
    assert shown.err == ""
    number = len(config.read_text(encoding="utf-8").splitlines())
    assert f"error config.yml:{number}\n" in shown.out
    assert "Did you mean 'max_steps'?" in shown.out
    assert "1 error, 0 warnings" in shown.out
    assert "market: not asked" in shown.out


def test_a_folder_without_a_project_is_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == ExitCode.FOUND
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "error config.yml" in shown.out
    assert "in the project's folder" in shown.out


@pytest.mark.parametrize("width", [32, 80, 240])
def test_a_terminal_of_any_width_shows_every_word(width: int) -> None:
    page = _drawn(width)
    assert max(map(len, page.splitlines())) <= width
    words = page.split()
    for word in ("error", "[brackets]", "desk", "market:", "ready", "explain", "else."):
        assert word in words
    assert "1 error, 1 warning" in page


def test_where_there_is_no_terminal_a_line_stays_a_line() -> None:
    page = _drawn(None)
    assert "  this [brackets] value is unknown, which takes some words to explain\n" in page
    assert f"error {LONG}/config.yml:7\n" in page
    assert "\x1b" not in page


def test_the_prompt_is_shown_only_when_asked_for() -> None:
    assert PROMPT not in _drawn(None)
    assert f"{PROMPT}\n" in _drawn(None, prompts=True)


@pytest.mark.parametrize(("kind", "shown"), [("open", "kind unknown"), ("external", "external")])
def test_the_kind_of_an_agent_is_unknown_where_the_flows_that_call_it_are(
    kind: str, shown: str
) -> None:
    from rasa_react_ext.host.inspection import AgentView, Inspection

    drawn = io.StringIO()
    inspection = Inspection(agents=[AgentView(name="desk", kind=kind, flows=None)])
    show(Console(file=drawn), inspection, prompts=False)
    assert drawn.getvalue().startswith(f"desk ({shown})\n")


def test_the_keys_of_the_json_are_documented() -> None:
    from rasa_react_ext.host.inspection import AgentView, Finding

    page = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")
    for kind, name in ((Finding, "findings"), (AgentView, "agents")):
        rows = {row.split("`")[1] for row in page.splitlines() if row.startswith(f"| `{name}[].")}
        assert rows == {f"{name}[].{field.name}" for field in dataclasses.fields(kind)}


def test_the_file_of_variables_of_another_project_is_not_read(
    sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The host's LLM layer looks for one above the place where it is installed."""
    other = tmp_path_factory.mktemp("other")
    (other / ".env").write_text("KEY_OF_ANOTHER=secret\n", encoding="utf-8")
    (other / "site").mkdir()
    (other / "site" / "litellm").symlink_to(_folder_of("litellm"))
    endpoints = sample / "endpoints.yml"
    text = endpoints.read_text(encoding="utf-8").replace("OPENAI_API_KEY", "KEY_OF_ANOTHER")
    endpoints.write_text(text, encoding="utf-8")
    done = _check([sys.executable], sample, "--json", "--offline", PYTHONPATH=str(other / "site"))
    told = [finding["key"] for finding in json.loads(done.stdout)["findings"]]
    assert told == ["KEY_OF_ANOTHER"]


def test_our_own_action_is_missed_where_the_projects_module_does_not_bring_it(
    sample: Path, forked: list[str]
) -> None:
    (sample / "actions/__init__.py").write_text("", encoding="utf-8")
    told = json.loads(_check(forked, sample, "--json", "--offline").stdout)["findings"]
    assert [(finding["level"], finding["key"]) for finding in told] == [
        ("error", "actions: action_sub_agent_status")
    ]
    assert "ActionSubAgentStatus from rasa_react_ext.actions" in told[0]["fix"]


def test_an_import_that_fails_in_a_module_of_actions_is_told_where_it_stands(
    sample: Path, forked: list[str]
) -> None:
    text = "import os\nfrom rasa_sdk import Akt\n"
    (sample / "actions/garden.py").write_text(text, encoding="utf-8")
    done = _check(forked, sample, "--json", "--offline")
    assert done.stderr == ""
    (told,) = json.loads(done.stdout)["findings"]
    assert (told["file"], told["line"]) == ("actions/garden.py", 2)
    assert "'Akt'" in told["problem"]
    assert "endpoints.yml: action_endpoint: actions_module" in told["fix"]


def _folder_of(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _drawn(width: int | None, *, prompts: bool = False) -> str:
    from rasa_react_ext.host.inspection import AgentView, Finding, Inspection

    inspection = Inspection()
    inspection.agents.append(
        AgentView(
            name="desk",
            kind="task",
            flows=["booking"],
            servers=["market: ready"],
            tools=[f"tool_{number}" for number in range(12)],
            prompt=PROMPT,
            prompt_tokens=12,
        )
    )
    inspection.add(
        Finding(
            file=f"{LONG}/config.yml" if width is None else "config.yml",
            line=7,
            key="policies: max_stepz",
            problem="this [brackets] value is unknown, which takes some words to explain",
            fix="Write something else.",
        )
    )
    inspection.add(Finding(level="warning", file="endpoints.yml", problem="slow"))
    file = io.StringIO()
    terminal: dict[str, Any] = {"force_terminal": True, "width": width, "color_system": None}
    show(Console(file=file, **(terminal if width else {})), inspection, prompts=prompts)
    return file.getvalue()


def _check(
    python: list[str], folder: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = ("HOME", "PATH", "LANG")
    return subprocess.run(
        [*python, "-m", "rasa_react_ext.cli", "check", *arguments],
        cwd=folder,
        env={name: os.environ[name] for name in kept if name in os.environ} | variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
