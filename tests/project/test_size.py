"""Files and functions stay small enough to be read in one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.project.tree import module_name, package_files, parsed

FILE_LINES = 400
FUNCTION_LINES = 50


@pytest.mark.parametrize("path", package_files(), ids=module_name)
def test_no_file_and_no_function_is_too_long(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= FILE_LINES
    lengths = {
        node.name: _length(node)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: lines for name, lines in lengths.items() if lines > FUNCTION_LINES} == {}


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from `def` to the end, without the docstring."""
    assert function.end_lineno is not None
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    described = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return function.end_lineno - function.lineno + 1 - described
