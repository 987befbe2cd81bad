"""The page by error text quotes what the code really says."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.docs.page import DOCS
from tests.project.tree import PACKAGE

ROWS = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
QUOTES = ROWS.findall((DOCS / "troubleshooting.md").read_text(encoding="utf-8"))


def test_the_page_quotes_messages() -> None:
    assert len(QUOTES) > 25


@pytest.mark.parametrize("quote", QUOTES)
def test_a_quoted_message_occurs_in_the_source(quote: str) -> None:
    assert any(quote in text for text in _texts()), quote


@cache
def _texts() -> tuple[str, ...]:
    """Every text of the source; what is filled in is an ellipsis."""
    return tuple(
        text
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (text := _text(node))
    )


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            _text(part) if isinstance(part, ast.Constant) else "…" for part in node.values
        )
    return ""
