"""What is there twice in several files, and what only looks like it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.host.inspection.mistake import AGENT
from tests.host.project import hosts_own_warnings

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection import Inspection

Edit = Callable[[str, str, str], None]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("responses:\n  utter_greet:\n    - text: Once more.\n", "responses: utter_greet"),
        ("slots:\n  appointment_day:\n    type: text\n", "slots: appointment_day"),
    ],
)
def test_a_part_of_the_domain_in_two_files_is_told_with_both(
    text: str, key: str, sample: Path
) -> None:
    folder = sample / "domain"
    folder.mkdir()
    (sample / "domain.yml").rename(folder / "all.yml")
    (folder / "more.yml").write_text(text, encoding="utf-8")
    (finding,) = _inspected(domain="domain").findings
    assert (finding.file, finding.line, finding.key) == ("domain/more.yml", 2, key)
    assert finding.problem.startswith("domain/all.yml has ")


def test_what_stands_below_the_second_key_is_looked_at_as_well(sample: Path, edit: Edit) -> None:
    edit("endpoints.yml", "mcp_servers:", "rasa_react_ext:\n  trace_foldr: a\nmcp_servers:")
    edit("endpoints.yml", "model_groups:", "rasa_react_ext:\n  trace_content: short\nmodel_groups:")
    found = {(finding.key.split(": ")[-1], finding.line) for finding in _inspected().findings}
    lines = (sample / "endpoints.yml").read_text(encoding="utf-8").splitlines()
    line = lines.index("  trace_foldr: a") + 1
    assert found == {("rasa_react_ext", line - 1), ("trace_foldr", line)}


def test_agents_of_one_name_are_both_shown_as_they_would_run(sample: Path, edit: Edit) -> None:
    other = sample / "sub_agents/another/config.yml"
    other.parent.mkdir()
    other.write_text((sample / AGENT).read_text(encoding="utf-8"), encoding="utf-8")
    inspection = _inspected()
    (finding,) = inspection.findings
    assert (finding.file, finding.key) == (AGENT, "agent: name")
    assert "sub_agents/another/config.yml" in finding.problem
    assert len(inspection.agents) == 5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "  - id: agents",
            "  - &one\n    id: one\n    models: [{provider: openai, model: a}]\n"
            "  - {<<: *one, id: two}\n  - id: agents",
        ),
        ("mcp_servers:", "of_our_own: {1: a, '1': b}\nmcp_servers:"),
    ],
)
def test_keys_that_are_no_second_ones_are_not_told(
    old: str, new: str, sample: Path, edit: Edit
) -> None:
    edit("endpoints.yml", old, new)
    assert [finding for finding in _inspected().findings if "second" in finding.problem] == []


def _inspected(domain: str = "domain.yml") -> Inspection:
    from rasa_react_ext.host.inspection import inspect_project

    with hosts_own_warnings():
        return asyncio.run(inspect_project(domain=domain, data=["flows"], connect=False))
