"""Processes of their own that share one import of the host, which takes its time.

This module is run as a process; `forking` gives the command that has it run a module.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

from tests.forked import client
from tests.host.parsing import parse_once
from tests.project.tree import ROOT

__all__ = ["forking"]

HEAVY = (
    "openai.types.chat",
    "rasa.core.agent",
    "rasa.model_training",
    "rasa_react_ext.host.inspection",
    "rasa_react_ext.host.terminal",
    "rasa_react_ext.policy",
)
"""What takes its time to import, once for all."""


@contextlib.contextmanager
def forking() -> Iterator[list[str]]:
    """Have a server while the block runs.

    Yields:
        What stands in the place of `python`; a module is to follow: `-m`, its name, arguments.
    """
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        address = f"{folder}/server"
        listening.bind(address)
        listening.listen()
        with subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.forked.server", str(listening.fileno())],
            cwd=ROOT,
            env={**os.environ, "LITELLM_MODE": "PRODUCTION", "PYTHONPATH": str(ROOT)},
            pass_fds=[listening.fileno()],
            stdin=subprocess.PIPE,  # closed when this process is gone, and the server with it
            stdout=subprocess.PIPE,  # no file: what is forked cannot seek in it
            stderr=subprocess.STDOUT,
        ) as process:
            try:
                yield [sys.executable, "-I", str(client.__file__), address]
            finally:
                process.kill()


def _serve(listening: socket.socket) -> NoReturn:
    for name in HEAVY:
        importlib.import_module(name)
    parse_once()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever minds a command is not waited for
    while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _mind(connection)
        connection.close()
    sys.exit()


def _mind(connection: socket.socket) -> NoReturn:
    """Have the command run, pass signals on, and tell the client its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    received = b""
    while not received.endswith(b"\n"):
        received += connection.recv(65536)
    ended, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(json.loads(received), streams)
    for number in (held, *streams):
        os.close(number)
    while ended not in select.select([ended, connection], [], [])[0]:
        told = connection.recv(1)
        os.kill(pid, told[0] if told else signal.SIGKILL)
        if not told:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(f"{code if code >= 0 else 128 - code}\n".encode())
    os._exit(0)


def _become(job: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the command."""
    os.setsid()
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["variables"])
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    for shown in (sys.stdout, sys.stderr):
        shown.reconfigure(line_buffering=True)
    dash, module, *arguments = job["arguments"]
    assert dash == "-m"
    sys.argv = [module, *arguments]
    sys.path[0] = job["folder"]
    code: Any = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:  # noqa: BLE001 - the edge of the process
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        for shown in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):
                shown.flush()
        # Taking the host's modules down would take as long as the rest.
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
