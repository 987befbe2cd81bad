"""What no file of the project may contain, and what its pages promise about commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.tree import ROOT, tracked_files

# Written so that this file does not contain what it looks for.
REGISTRY_HOSTS = re.compile(r"\b(?:pypi|pythonhosted|npmjs|deb\.debian|golang)[.](?:org|com)\b")
MACHINE_PATHS = re.compile(r"(?<![\w.~-])/(?:root|work|home/\w+|Users/\w+)/")

COMMANDS = re.compile(r"(?:^|`|&& |\$ )make ([a-z][a-z-]*)", re.MULTILINE)
TARGETS = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_no_file_names_a_registry_host_or_a_path_of_one_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        for pattern in (REGISTRY_HOSTS, MACHINE_PATHS)
        for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_in_the_makefile(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = set(TARGETS.findall((ROOT / "Makefile").read_text(encoding="utf-8")))
    assert set(COMMANDS.findall(text)) - targets == set()
