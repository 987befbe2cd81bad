"""Pages are found: from the index, from the README, and every link leads to what it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.page import DOCS, PAGES

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
OURS = sorted(path.name for path in DOCS.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    file = DOCS / page
    for target, place in LINK.findall(file.read_text(encoding="utf-8")):
        if not target.startswith("https://"):
            found = file.parent / target if target else file
            assert found.is_file(), target
            assert not place or place in _places(found), f"{target}#{place}"


@pytest.mark.parametrize("page", OURS)
def test_a_page_is_linked_by_the_index_and_by_the_readme(page: str) -> None:
    assert f"({page})" in (DOCS / "README.md").read_text(encoding="utf-8")
    assert f"(docs/{page})" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "task",
    [
        "add an agent",
        "build my image",
        "every setting",
        "expose my assistant",
        "hooks",
        "long-running agents",
        "move from the host's engine",
        "personal data",
        "roll back",
        "run many workers",
        "security",
        "test without a key",
        "troubleshooting by error text",
        "upgrade the host",
    ],
)
def test_the_readme_names_a_page_for_each_task(task: str) -> None:
    assert f"[{task}](docs/" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def _places(file: Path) -> set[str]:
    """Anchors of the headings, as they are made of their words."""
    headings = HEADING.findall(file.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}
