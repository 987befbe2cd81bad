"""Installed beside Rasa Pro in a clean environment, the package moves none of its versions."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.project.tree import run

pytestmark = pytest.mark.slow

HOST = f"rasa-pro=={version('rasa-pro')}"


def test_no_version_that_the_host_gets_alone_changes_with_the_package(tmp_path: Path) -> None:
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)
    assert built.returncode == 0, built.stderr
    wheel = next(tmp_path.glob("*.whl"))
    alone = _resolved(tmp_path, HOST)
    both = _resolved(tmp_path, HOST, f"rasa-react-ext[postgresql] @ {wheel.as_uri()}")
    assert HOST in alone
    assert alone - both == set()
    added = {line.partition("==")[0].partition(" @")[0] for line in both - alone}
    assert "rasa-react-ext" in added


def _resolved(folder: Path, *wanted: str) -> set[str]:
    """Exact versions of everything that comes with some requirements."""
    asked = folder / "asked.in"
    asked.write_text("\n".join(wanted), encoding="utf-8")
    plain = ("--quiet", "--no-annotate", "--no-header")
    done = run(sys.executable, "-m", "uv", "pip", "compile", *plain, asked, **_index())
    if "error sending request" in done.stderr or "Failed to fetch" in done.stderr:
        skip_or_fail("no package index")
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split("\n")) - {""}


def _index() -> dict[str, str]:
    """Uv does not read pip's settings: who configured an index for pip alone gets it for uv."""
    if os.environ.get("UV_DEFAULT_INDEX"):
        return {}
    index = run(sys.executable, "-m", "pip", "config", "get", "global.index-url").stdout.strip()
    return {"UV_DEFAULT_INDEX": index} if index else {}
