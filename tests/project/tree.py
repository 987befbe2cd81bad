"""The project's files, as the tests about the project look at them."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

__all__ = ["PACKAGE", "ROOT", "module_name", "package_files", "parsed", "run", "tracked_files"]

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "rasa_react_ext"


def package_files() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def tracked_files() -> list[Path]:
    """Every file under version control that is there now."""
    listed = run("git", "ls-files", "-z")
    assert listed.returncode == 0, listed.stderr
    names = listed.stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def module_name(path: Path) -> str:
    """The dotted name under which a file of the package is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def run(
    *command: str | Path, cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, at most a minute, and give what it printed."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
