"""Files of a project whose own imports fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.host.inspection.mistake import AGENT
from tests.host.project import hosts_own_warnings

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection import Finding

Edit = Callable[[str, str, str], None]

FAULTS = {
    "a module that is not there": ("import os\nimport no_such_package\n", 2, "'no_such_package'"),
    "a name that is not there": ("from os import no_such_name\n", 1, "'no_such_name'"),
    "a line that is no Python": ("import os\n\nclass Desk(:\n", 3, "invalid syntax"),
    "a statement that fails": ("import os\n\n\nos.no_such_thing\n", 4, "no_such_thing"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_import_that_fails_in_the_file_of_a_class_is_told_where_it_stands(
    name: str, sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, line, word = FAULTS[name]
    monkeypatch.syspath_prepend(str(sample))
    module = f"desk_{line}_{len(text)}"
    (sample / f"{module}.py").write_text(text, encoding="utf-8")
    edit(AGENT, "configuration:\n", f"configuration:\n  module: {module}.Desk\n")
    found = _found()
    assert len(found) == 1, found
    (finding,) = found
    assert (finding.file, finding.line) == (f"{module}.py", line)
    assert word in finding.problem
    assert f"{AGENT}: configuration: module needs this file" in finding.fix


def test_a_path_that_is_wrong_is_told_where_it_is_written(sample: Path, edit: Edit) -> None:
    edit(AGENT, "configuration:\n", "configuration:\n  module: no_such_desk.Desk\n")
    (finding,) = _found()
    assert (finding.file, finding.key) == (AGENT, "configuration: module")
    assert finding.fix == "Correct the path."


@pytest.mark.parametrize("path", ["desks.shelf.Desc", "desks.shelv.Desk", "desk.shelf.Desk"])
def test_the_nearest_class_of_the_project_is_offered_for_a_path_that_is_wrong(
    path: str, sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(sample))
    (sample / "desks").mkdir()
    (sample / "desks/shelf.py").write_text("class Desk:\n    pass\n", encoding="utf-8")
    edit(AGENT, "configuration:\n", f"configuration:\n  module: {path}\n")
    (finding,) = _found()
    assert (finding.file, finding.key) == (AGENT, "configuration: module")
    assert finding.problem.endswith(").")
    assert "." not in finding.problem[-3:-1]
    assert finding.fix == "Did you mean 'desks.shelf.Desk'?"


_TOOLS = """from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent


class Desk(MCPOpenAgent):
    def get_custom_tool_definitions(self):
        return [{}]
"""
_FUNCTION = '"function": {"name": "weigh", "description": "Weighs.", "parameters": {}}'
TOOLS = {
    "without its executor": (
        f'{{"type": "function", {_FUNCTION}}}',
        "the tool 'weigh' of '{}.Desk' has no tool_executor.",
        'Add "tool_executor"',
    ),
    "with a misspelt executor": (
        f'{{"type": "function", {_FUNCTION}, "tool_executer": print}}',
        "the tool 'weigh' of '{}.Desk' has no tool_executor.",
        "in place of 'tool_executer'",
    ),
    "without anything": (
        '{"tool_executor": print}',
        "the tool number 1 of '{}.Desk' is refused",
        "type: function, function: (name, description, parameters)",
    ),
}


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_of_a_class_that_cannot_be_built_is_told_where_it_is_defined(
    name: str, sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, problem, fix = TOOLS[name]
    module = f"desk_{name.replace(' ', '_')}"
    monkeypatch.syspath_prepend(str(sample))
    (sample / f"{module}.py").write_text(_TOOLS.format(tool), encoding="utf-8")
    edit(AGENT, "configuration:\n", f"configuration:\n  module: {module}.Desk\n")
    (finding,) = _found()
    assert (finding.file, finding.line) == (f"{module}.py", 5)
    assert finding.problem.startswith(problem.format(module))
    assert fix in finding.fix


def test_the_class_of_a_store_whose_file_fails_is_told_with_the_line(
    sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(sample))
    (sample / "shelf_of_mine.py").write_text("import os\nimport no_such_wood\n", encoding="utf-8")
    edit("endpoints.yml", "mcp_servers:", "lock_store: {type: shelf_of_mine.Shelf}\nmcp_servers:")
    (finding,) = _found()
    assert (finding.file, finding.key) == ("endpoints.yml", "lock_store: type")
    assert "(shelf_of_mine.py, line 2)" in finding.problem


def _found() -> Sequence[Finding]:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        found = asyncio.run(inspect_project(domain="domain.yml", data=["flows"], connect=False))
    return found.findings
