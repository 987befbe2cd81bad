"""A whole measurement of both engines, as `make bench` does it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.host
@pytest.mark.timeout(400)
def test_both_engines_are_measured_and_the_numbers_written(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "benchmarks", "--quick", "--only", "abf")
    done = subprocess.run(
        [*command, "--results", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "latest.json").read_text(encoding="utf-8"))
    assert {row["group"] for row in result["rows"]} == {"a", "b", "f"}
    five = next(row for row in result["rows"] if row["label"].startswith("5 tools"))
    assert five["host"] > 1000  # one after the other
    assert len(five["samples"]["ours"]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"latest.json", "latest.md"}
