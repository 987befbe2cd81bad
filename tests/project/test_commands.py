"""The commands: one checks everything, set-up refuses what cannot work in one clear line."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.project.tree import ROOT, run


@pytest.mark.parametrize(
    "check",
    [
        "ruff format --check",
        "ruff check",
        "codespell",
        "basedpyright",
        "lint-imports",
        "deptry",
        "pytest",
        "coverage report",
    ],
)
def test_make_test_runs_every_check(check: str) -> None:
    assert check in run("make", "--dry-run", "test", PYTEST_ARGS="").stdout


def test_the_ci_script_runs_make_test_as_ci(tmp_path: Path) -> None:
    _script(tmp_path / "make", 'echo "CI=$CI make $*"')
    done = run(ROOT / ".ci" / "run", cwd=tmp_path, PATH=f"{tmp_path}:{os.environ['PATH']}", CI="")
    assert done.stdout == "CI=true make --jobs=2 test\n"


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_a_python_outside_the_range_is_refused_in_one_line(tmp_path: Path, version: str) -> None:
    done = _setup(tmp_path, _script(tmp_path / "python", f"echo {version}"))
    assert done.returncode == 1
    assert f"is Python {version}, needed is 3.11, 3.12 or 3.13" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "a project" / ".venv").exists()


def test_a_missing_python_is_refused_in_one_line(tmp_path: Path) -> None:
    done = _setup(tmp_path, tmp_path / "none")
    assert done.returncode == 1
    assert f"no '{tmp_path / 'none'}' found" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def _script(path: Path, line: str) -> Path:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path


def _setup(directory: Path, python: Path) -> subprocess.CompletedProcess[str]:
    """Run the set-up of an otherwise empty project whose path has a space."""
    scripts = directory / "a project" / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy(ROOT / "scripts" / "setup.sh", scripts)
    return run("sh", scripts / "setup.sh", cwd=directory, PYTHON=str(python))
