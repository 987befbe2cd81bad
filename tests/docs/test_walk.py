"""The pages that lead through a project, followed to the letter."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rasa_react_ext.cli.failure import ExitCode
from rasa_react_ext.cli.main import main
from tests.docs.page import blocks, files_of
from tests.host.project import hosts_own_warnings
from tests.mcp_pool.mcp_server import serving

pytestmark = pytest.mark.host

SECONDS = 110


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder as working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "offline")
    return tmp_path


def test_the_agent_that_is_added_is_offered_the_tools_of_its_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_of("add-an-agent.md", folder)
    namespace: dict[str, Any] = {"__name__": "tables"}
    exec(compile(files["servers/tables.py"].read_text(), "tables.py", "exec"), namespace)
    with serving(namespace["server"].streamable_http_app) as served:
        monkeypatch.setenv("TABLES_URL", served.url)
        inspection = _inspected()
    assert inspection.findings == []
    by_kind = {agent.kind: agent for agent in inspection.agents}
    assert set(by_kind["open"].tools) == {"find_tables", "book_table", "task_completed"}
    assert set(by_kind["task"].tools) == {"find_tables", "book_table", "set_slot_stars"}
    assert by_kind["task"].flows == ["feedback"]


def test_the_project_that_moves_passes_its_test_offline(folder: Path, forked: list[str]) -> None:
    files_of("move-from-the-host.md", folder)
    done = _run(forked, folder, "-m", "pytest", "tests", "-q", "-p", "no:cacheprovider")
    assert done.returncode == ExitCode.DONE, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_project_that_moves_is_checked_as_the_page_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files_of("move-from-the-host.md", folder)
    monkeypatch.setenv("GARDEN_URL", "http://127.0.0.1:9/mcp")
    assert main(["check", "--offline"]) == ExitCode.DONE
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "price_of" in shown.out
    assert "Nothing is wrong." in shown.out


def test_the_class_of_the_page_on_hooks_is_offered_with_its_tool(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = files_of("move-from-the-host.md", folder)
    setting, snippet = (
        next(block.text for block in blocks("hooks.md") if block.kind == kind)
        for kind in ("yaml", "python")
    )
    config = yaml.safe_load(files["sub_agents/florist/config.yml"].read_text())
    config["configuration"] |= yaml.safe_load(setting)["configuration"]
    files["sub_agents/florist/config.yml"].write_text(yaml.safe_dump(config))
    (folder / "custom").mkdir()
    (folder / "custom" / "car_research_agent.py").write_text(snippet)
    monkeypatch.setenv("GARDEN_URL", "http://127.0.0.1:9/mcp")
    assert main(["check", "--offline"]) == ExitCode.DONE
    assert "  tools     count_seats, task_completed\n" in capsys.readouterr().out


def _inspected() -> Any:
    with hosts_own_warnings():
        from rasa_react_ext.host.inspection import inspect_project

        return asyncio.run(inspect_project(domain="domain.yml", data=["flows"]))


def _run(python: list[str], folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "GARDEN_URL": "http://127.0.0.1:9/mcp"}
    environment.pop("PYTEST_CURRENT_TEST", None)
    return subprocess.run(
        [*python, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
