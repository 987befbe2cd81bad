"""The layers are a build failure: an import planted against their direction is found."""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path

import pytest

from tests.project.tree import PACKAGE, ROOT, module_name, package_files, parsed, run

ENGINE_MAY_IMPORT = {"anyio", "jinja2", "jsonschema", "pydantic", "rasa_react_ext"}
ENGINE_FILES = sorted((PACKAGE / "engine").rglob("*.py"))


@pytest.mark.parametrize(
    ("file", "planted", "finding"),
    [
        (
            "errors.py",
            "import rasa_react_ext.engine.port",
            "rasa_react_ext.errors -> rasa_react_ext.engine.port",
        ),
        (
            "engine/planted.py",
            "import rasa_react_ext.host",
            "rasa_react_ext.engine.planted -> rasa_react_ext.host",
        ),
        (
            "engine/planted.py",
            "from rasa.core.agent import Agent",
            "rasa_react_ext.engine.planted -> rasa",
        ),
        ("testing/planted.py", "import litellm", "rasa_react_ext.testing.planted -> litellm"),
        ("engine/planted.py", "import mcp.types", "rasa_react_ext.engine.planted -> mcp"),
        ("mcp_pool/planted.py", "import a2a", "rasa_react_ext.mcp_pool.planted -> a2a"),
        ("planted.py", "", "- rasa_react_ext.planted"),
    ],
    ids=["upwards", "to the host adapter", "host", "LLM layer", "MCP", "A2A", "no layer"],
)
def test_a_forbidden_import_breaks_a_contract_that_names_it(
    tmp_path: Path, file: str, planted: str, finding: str
) -> None:
    copy = _copy(tmp_path) / "rasa_react_ext" / file
    assert f"{finding} " not in _lint_imports(tmp_path), "the tree itself is broken"
    copy.write_text(f"{copy.read_text() if copy.exists() else ''}\n{planted}\n")

    report = _lint_imports(tmp_path)

    assert "BROKEN" in report
    assert f"{finding} " in report


def test_every_directory_with_modules_is_a_package() -> None:
    """The contracts see no module of a directory without `__init__.py`."""
    directories = {path.parent for path in package_files()}
    assert [str(path) for path in directories if not (path / "__init__.py").exists()] == []


@pytest.mark.parametrize("path", ENGINE_FILES, ids=module_name)
def test_the_engine_imports_only_what_it_may(path: Path) -> None:
    assert _imported(path) - set(sys.stdlib_module_names) <= ENGINE_MAY_IMPORT


def _copy(target: Path) -> Path:
    shutil.copytree(
        PACKAGE, target / "rasa_react_ext", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", target)
    for name in ("engine", "host", "mcp_pool", "testing"):
        (target / "rasa_react_ext" / name / "__init__.py").touch()
    return target


def _lint_imports(directory: Path) -> str:
    """The report as one line of words, since the tool breaks lines where they fill up."""
    tool = Path(sys.executable).with_name("lint-imports")
    options = ("--no-logo", "--no-cache", "pyproject.toml")
    done = run(tool, *options, cwd=directory, PYTHONPATH=str(directory))
    report = f"{done.stdout} {done.stderr}"
    assert (done.returncode == 0) != ("BROKEN" in report), report
    return " ".join(report.split()) + " "


def _imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}
