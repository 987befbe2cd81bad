"""Runs the commands of the pages, and what stands in for those of the host.

Run as a module, it is what stands in for them: `train`, and `parse` with command lines.
"""

from __future__ import annotations

import asyncio
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Done", "run_command"]

SECONDS = 90


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    shown: str


def run_command(
    python: Sequence[str],
    arguments: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    *,
    typed: str = "",
    terminal: bool = False,
) -> Done:
    """Run a command to its end.

    Args:
        python: What stands in the place of `python`.
        arguments: The name of one of `MODULES`, and what it is given.
        folder: Where.
        variables: What the environment has besides.
        typed: What it finds in its input.
        terminal: Whether that is a terminal.
    """
    name, *rest = arguments
    with _input(typed, terminal=terminal) as stdin:
        done = subprocess.run(
            [
                *python,
                "-m",
                *([MODULES[name], *rest] if name in MODULES else [__name__, *arguments]),
            ],
            cwd=folder,
            env={**os.environ, **variables},
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    return Done(code=done.returncode, shown=done.stdout)


MODULES = {"rasa-react": "rasa_react_ext.cli"}


@contextmanager
def _input(typed: str, *, terminal: bool) -> Iterator[int]:
    writing, reading = pty.openpty() if terminal else os.pipe()[::-1]
    os.write(writing, typed.encode())
    if not terminal:
        os.close(writing)
    try:
        yield reading
    finally:
        os.close(reading)
        if terminal:
            os.close(writing)


def _train() -> None:
    """Train the project of the folder."""
    from rasa_react_ext.assistant import Project, train

    asyncio.run(train(Project(folder=Path.cwd()), Path("models")))


def _parse(commands: list[str]) -> None:
    """Have the host's parser read command lines of `rasa`; it names the first it refuses."""
    from rasa.__main__ import create_argument_parser

    parser = create_argument_parser()
    for command in commands:
        print(command, flush=True)
        parser.parse_args(shlex.split(command)[1:])


if __name__ == "__main__":
    if sys.argv[1] == "train":
        _train()
    else:
        _parse(sys.argv[2:])
