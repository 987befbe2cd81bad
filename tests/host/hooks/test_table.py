"""`docs/hooks.md` and the tests of this folder name the same hooks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.tree import ROOT, parsed

pytestmark = pytest.mark.host

HERE = ROOT / "tests" / "host" / "hooks"
ROW = re.compile(r"\| (?P<name>[^|]*`[^|]*) \|")
WORD = re.compile(r"`(?:self\.)?_*(?P<word>\w+?)_*(?:\(|`|\b)")
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
FAILS = ("raises", "fails", "keeps_the_assistant_from_starting", "leaves_the_default_record")


def test_every_hook_of_the_table_has_a_test_and_every_test_a_row() -> None:
    tests = set(_tests())
    rows = _rows("Documented hooks", "Hooks of a server", "Class constants", "Older forms")
    without = {row for row in rows if not any(_names(test, row) for test in tests)}
    strange = {test for test in tests if not any(_names(test, row) for row in rows)}
    assert without == set()
    assert strange == set()


def test_every_documented_hook_has_a_test_of_its_failure() -> None:
    failing = [test for test in _tests() if any(word in test for word in FAILS)]
    untried = {
        row for row in _rows("Documented hooks") if not any(_names(test, row) for test in failing)
    }
    assert untried == set()


def _names(test: str, row: str) -> bool:
    """Whether a test is about a hook: it names it first, or after an `and`."""
    return re.search(rf"(^test|_and)_{row}(_|$)", test) is not None


def _rows(*headings: str) -> set[str]:
    """The hook that each row of these sections begins with."""
    text = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    wanted = [section for section in sections if section.startswith(headings)]
    assert len(wanted) == len(headings)
    found: set[str] = set()
    for section in wanted:
        for line in section.splitlines():
            if row := ROW.match(line):
                word = WORD.search(row["name"])
                assert word, line
                found.add(word["word"].lower())
    return found


def _tests() -> Iterator[str]:
    for path in sorted(HERE.glob("test_*.py")):
        nodes = ast.walk(parsed(path)) if path != Path(__file__) else ()
        for node in nodes:
            if isinstance(node, FUNCTION) and node.name.startswith("test_"):
                yield node.name
