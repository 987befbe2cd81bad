"""A stdio server for tests; run as a program. The argument says how it misbehaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from mcp.server.fastmcp import FastMCP

server = FastMCP("child", log_level="CRITICAL")
children: list[subprocess.Popen[bytes]] = []


@server.tool()
def pid() -> str:
    """Process id."""
    return str(os.getpid())


@server.tool()
def variable(name: str) -> str:
    """An environment variable."""
    return os.environ.get(name, "(unset)")


@server.tool()
def directory() -> str:
    """Working directory."""
    return str(Path.cwd())


@server.tool()
def complain(text: str) -> str:
    """Write to standard error."""
    print(text, file=sys.stderr, flush=True)
    return "done"


@server.tool()
def have_child() -> str:
    """Start a grandchild that outlives its parent; returns its pid."""
    children.append(subprocess.Popen(["sleep", "600"]))
    return str(children[-1].pid)


@server.tool()
def big(size: int) -> str:
    """A large answer on one line."""
    return "ü" * size


@server.tool()
def die() -> str:
    """End in the middle of the call."""
    os._exit(7)


def stay() -> None:
    """Ignore every polite way to be ended."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def forever() -> None:
        while True:
            time.sleep(1)

    threading.Thread(target=forever).start()


if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    if how == "crash":
        print("no licence", file=sys.stderr, flush=True)
        sys.exit(3)
    if how == "chatty":
        print("Welcome to the server!", flush=True)
    if how == "stubborn":
        stay()
    server.run()
