"""Every promised behaviour has a test, and every test names a promise that exists."""

from __future__ import annotations

import ast
import re

from tests.project.tree import ROOT, parsed
from tests.requirements import REQUIREMENTS

ID = re.compile(r"test_(b\d+[a-z]?|d\d+[a-z]?(?:_\d+[a-z]?)?)_")


def test_every_requirement_has_a_test() -> None:
    assert sorted(set(REQUIREMENTS) - _ids_of_tests().keys()) == []


def test_every_id_in_a_test_name_is_a_requirement() -> None:
    unknown = {id_: test for id_, test in _ids_of_tests().items() if id_ not in REQUIREMENTS}
    assert unknown == {}


def test_every_requirement_is_a_sentence() -> None:
    odd = [id_ for id_, text in REQUIREMENTS.items() if not re.fullmatch(r"[A-Z`].*\.", text)]
    assert odd == []


def _ids_of_tests() -> dict[str, str]:
    """Ids at the beginning of test names, each with a test that carries it."""
    ids: dict[str, str] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                match = ID.match(node.name)
                if match:
                    ids.setdefault(match[1], f"{path.relative_to(ROOT)}::{node.name}")
    return ids
