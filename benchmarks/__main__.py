"""`python -m benchmarks`: measures, prints the table, writes benchmarks/results/."""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.measure import Rounds, measure
from benchmarks.plan import GROWTHS, SCENARIOS
from benchmarks.process import BenchmarkError
from benchmarks.report import Row, as_json, as_markdown, as_table, rows

__all__ = ["main"]

RESULTS = Path(__file__).parent / "results"
_WIDTH = 120
_PACKAGES = ("rasa-react-ext", "rasa-pro", "mcp", "litellm", "openai", "aiohttp", "httpx")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; 1 with --check when a target is missed, 2 on failure."""
    given = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    chosen = [each for each in SCENARIOS if not given.only or each.group in given.only]
    rounds = Rounds(resident=2, fresh=1, imports=2) if given.quick else Rounds()
    given.results.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=given.results) as folder:
            samples = measure(chosen, rounds, Path(folder), console.log)
    except BenchmarkError as error:
        console.print(str(error), style="red", markup=False)
        return 2
    found = rows(chosen, GROWTHS, samples)
    _write(found, given.results, quick=given.quick)
    console.print(as_table(found))
    missed = any(row.met is False for row in found)
    return 1 if given.check and missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure this engine beside the host's."
    )
    parser.add_argument("--quick", action="store_true", help="fewer samples, about two minutes")
    parser.add_argument("--only", default="", metavar="LETTERS", help="groups, such as ab")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder for latest.json")
    return parser


def _write(found: Sequence[Row], folder: Path, *, quick: bool) -> None:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    result: dict[str, Any] = {
        "at": now,
        "quick": quick,
        "machine": {
            "cpus": os.cpu_count(),
            "system": platform.platform(),
            "python": platform.python_version(),
        },
        "versions": {name: _version(name) for name in _PACKAGES},
        "rows": [as_json(row) for row in found],
    }
    text = json.dumps(result, indent=2, ensure_ascii=False)
    (folder / "latest.json").write_text(f"{text}\n", encoding="utf-8")
    (folder / "latest.md").write_text(as_markdown(found), encoding="utf-8")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    sys.exit(main())
