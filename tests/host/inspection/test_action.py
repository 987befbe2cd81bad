"""Actions of a project's own module: those that it has, and those that it has not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.host.project import hosts_own_warnings

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection import Finding

Edit = Callable[[str, str, str], None]

STATUS = "action: action_sub_agent_status"

MODULE = """\
from typing import Any

from rasa_sdk import Action

from rasa_react_ext.actions import ActionSubAgentStatus as ActionSubAgentStatus


class Rain(Action):
    def name(self) -> str:
        return "action_ask_the_sky"

    async def run(self, dispatcher: Any, tracker: Any, domain: Any) -> list[dict[str, Any]]:
        return []
"""


@pytest.fixture
def own(sample: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's own module of actions, in which each test writes."""
    folder = sample / "sky_actions"
    (folder / "deep").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(sample))
    edit("endpoints.yml", "actions_module: actions", "actions_module: sky_actions")
    edit("flows/opening_hours.yml", "utter_opening_hours", "action_ask_the_sky")
    edit("domain.yml", "actions:\n", "actions:\n  - action_ask_the_sky: {send_domain: true}\n")
    return folder / "deep" / "rain.py"


def test_actions_of_any_file_below_the_module_are_found(own: Path) -> None:
    own.write_text(MODULE, encoding="utf-8")
    (own.parent / "__init__.py").touch()
    assert _found() == []


def test_an_action_that_a_flow_runs_is_an_error(own: Path, edit: Edit) -> None:
    edit("endpoints.yml", "actions_module: sky_actions", "actions_module: actions")
    edit("domain.yml", "action_ask_the_sky", "action_ask_the_moon")
    edit("flows/opening_hours.yml", "action_ask_the_sky", "action_ask_the_moon")
    (finding,) = _found()
    assert (finding.level, finding.key) == ("error", "actions: action_ask_the_moon")


@pytest.mark.parametrize("section", ["", "\naction_endpoint:\n"])
@pytest.mark.parametrize(
    ("flow_runs", "level", "action"),
    [(True, "error", "action_ask_the_sky"), (False, "warning", "action_sub_agent_status")],
)
def test_actions_that_nothing_runs_are_told_with_the_level_of_what_happens(
    sample: Path, edit: Edit, section: str, flow_runs: bool, level: str, action: str
) -> None:
    edit("endpoints.yml", "\naction_endpoint:\n  actions_module: actions\n", section)
    edit("flows/patterns.yml", STATUS, "action: utter_opening_hours")
    if flow_runs:
        edit("flows/opening_hours.yml", "utter_opening_hours", "action_ask_the_sky")
        edit("domain.yml", "actions:\n", "actions:\n  - action_ask_the_sky\n")
    (finding,) = _found()
    assert (finding.file, finding.key) == ("endpoints.yml", "action_endpoint")
    assert (finding.level, bool(finding.line)) == (level, bool(section))
    assert f"run: '{action}'" in finding.problem
    assert "actions_module: actions" in finding.fix


def test_a_misspelt_section_of_actions_is_told_once(sample: Path, edit: Edit) -> None:
    edit("endpoints.yml", "\naction_endpoint:\n", "\naction_endpont:\n")
    (finding,) = _found()
    assert "'action_endpoint'" in finding.fix


def test_a_project_without_custom_actions_needs_no_place_to_run_them(
    sample: Path, edit: Edit
) -> None:
    edit("endpoints.yml", "\naction_endpoint:\n  actions_module: actions\n", "")
    edit("domain.yml", "\nactions:\n  - action_sub_agent_status\n", "\n")
    edit("flows/patterns.yml", STATUS, "action: utter_opening_hours")
    assert _found() == []


@pytest.mark.parametrize(
    "name", ["utter_moon", "validate_moon_form", "action_session_start", "action_listen"]
)
def test_names_that_need_no_class_are_not_told(name: str, sample: Path, edit: Edit) -> None:
    edit("domain.yml", "actions:\n", f"actions:\n  - {name}\n")
    edit("domain.yml", "responses:\n", "responses:\n  utter_moon:\n    - text: Full.\n")
    assert [finding for finding in _found() if "no class" in finding.problem] == []


def test_without_a_module_actions_are_a_matter_of_their_server(sample: Path, edit: Edit) -> None:
    edit("endpoints.yml", "actions_module: actions", "url: http://127.0.0.1:9/webhook")
    edit("domain.yml", "actions:\n", "actions:\n  - action_ask_the_server\n")
    assert _found() == []


def _found() -> Sequence[Finding]:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        found = asyncio.run(inspect_project(domain="domain.yml", data=["flows"], connect=False))
    return found.findings
