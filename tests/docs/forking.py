"""Runs commands in processes of their own that share one import of the host.

The module is run as a process; `Commands` talks to it: a job per line, its exit code per line.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from tests.project.tree import ROOT

__all__ = ["Commands", "Done"]

SECONDS = 90


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    shown: str


class Commands:
    """Runs commands; made by `running()`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextlib.contextmanager
    def running(cls) -> Iterator[Commands]:
        """Have commands run while the block does."""
        with subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.docs.forking"],
            cwd=ROOT,
            env={**os.environ, "LITELLM_MODE": "PRODUCTION", "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield cls(process)
            finally:
                process.kill()

    def run(
        self,
        arguments: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        *,
        typed: str = "",
        terminal: bool = False,
    ) -> Done:
        """Run a command to its end.

        Args:
            arguments: The name of one of `PROGRAMS`, and what it is given.
            folder: Where.
            variables: What the environment has besides.
            typed: What it finds in its input.
            terminal: Whether that is a terminal.
        """
        shown = folder / "shown.txt"
        job = {
            "arguments": list(arguments),
            "folder": str(folder),
            "variables": dict(variables),
            "typed": typed,
            "terminal": terminal,
            "shown": str(shown),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(job)}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        return Done(code=code, shown=shown.read_text(encoding="utf-8"))


HEAVY = (
    "openai.types.chat",
    "rasa.core.agent",
    "rasa.model_training",
    "rasa_react_ext.host.inspection",
    "rasa_react_ext.host.terminal",
    "rasa_react_ext.policy",
)
"""What takes its time to import, once for all commands."""


def _serve() -> None:
    for name in HEAVY:
        importlib.import_module(name)
    for line in sys.stdin:
        print(_forked(json.loads(line)), flush=True)


def _forked(job: dict[str, Any]) -> int:
    writing, reading = pty.openpty() if job["terminal"] else os.pipe()[::-1]
    os.write(writing, job["typed"].encode())
    if not job["terminal"]:
        os.close(writing)
    pid = os.fork()
    if pid == 0:
        _become(job, reading)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(reading)
    if job["terminal"]:
        os.close(writing)
    return code


def _become(job: dict[str, Any], reading: int) -> NoReturn:
    """Be the command."""
    signal.alarm(SECONDS)
    os.chdir(job["folder"])
    os.environ.update(job["variables"])
    shown = os.open(job["shown"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(reading, 0)
    os.dup2(shown, 1)
    os.dup2(shown, 2)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    program, *arguments = job["arguments"]
    code = 1
    try:
        code = PROGRAMS[program](arguments)
    except BaseException:  # noqa: BLE001 - the edge of the process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # taking the host's modules down would take as long as the rest


def _train(_: list[str]) -> int:
    """Train the project of the folder."""
    from rasa_react_ext.assistant import Project, train

    asyncio.run(train(Project(folder=Path.cwd()), Path("models")))
    return 0


def _rasa_react(arguments: list[str]) -> int:
    """The command line of this package."""
    from rasa_react_ext.cli.main import main

    return main(arguments)


def _parse(commands: list[str]) -> int:
    """Have the host's parser read command lines of `rasa`; it names the first it refuses."""
    from rasa.__main__ import create_argument_parser

    parser = create_argument_parser()
    for command in commands:
        print(command, flush=True)
        parser.parse_args(shlex.split(command)[1:])
    return 0


PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    "parse": _parse,
    "rasa-react": _rasa_react,
    "train": _train,
}

if __name__ == "__main__":
    _serve()
