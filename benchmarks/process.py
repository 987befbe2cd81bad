"""Starts, asks and ends the processes of a measurement. Ends only what it started."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

__all__ = ["BenchmarkError", "Worker", "first_line", "last_line", "started", "worker"]

_STOP_SECONDS = 5


class BenchmarkError(Exception):
    """A process of the measurement did not do what it should."""


@contextlib.contextmanager
def started(*arguments: str, log: Path) -> Generator[subprocess.Popen[str]]:
    """A Python process with pipes, terminated at the end of the block."""
    with (
        log.open("a", encoding="utf-8") as errors,
        subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def first_line(process: subprocess.Popen[str], log: Path) -> str:
    """What a server prints when it is ready.

    Raises:
        BenchmarkError: It ended instead.
    """
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise BenchmarkError(f"A process ended early. Its last words:\n{_tail(log)}")
    return line.strip()


def last_line(process: subprocess.Popen[str], log: Path) -> str:
    """What a process printed last before it ended.

    Raises:
        BenchmarkError: It printed nothing.
    """
    printed, _ = process.communicate()
    lines = printed.split("\n")
    if process.returncode or not any(lines):
        raise BenchmarkError(f"A process failed. Its last words:\n{_tail(log)}")
    return [line for line in lines if line][-1]


class Worker:
    """A measuring process of one engine."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def do(self, work: str, **values: int) -> dict[str, float]:
        """Let it measure something and wait for the numbers.

        Raises:
            BenchmarkError: It ended instead.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"work": work, **values}) + "\n")
        self._process.stdin.flush()
        numbers: dict[str, float] = json.loads(first_line(self._process, self._log))
        return numbers


@contextlib.contextmanager
def worker(engine: str, setup: Mapping[str, Any], folder: Path) -> Generator[Worker]:
    """A measuring process with its agent ready."""
    log = folder / f"{engine}.log"
    arguments = ("-m", "benchmarks.worker", engine, json.dumps(setup))
    with started(*arguments, log=log) as process:
        measuring = Worker(process, log)
        measuring.do("open")
        yield measuring


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
