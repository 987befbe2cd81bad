"""A stdio server for tests; run as a program. The argument says how it misbehaves."""

from __future__ import annotations

import json
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


def plain() -> None:
    """Serve without the mcp package, whose servers may crash when a call is called off."""
    schema = {"type": "object", "properties": {}}
    answers = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "pid", "inputSchema": schema}]},
        "tools/call": {"content": [{"type": "text", "text": str(os.getpid())}]},
    }
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else ""
    if how == "crash":
        print("no licence", file=sys.stderr, flush=True)
        sys.exit(3)
    if how == "chatty":
        print("Welcome to the server!", flush=True)
    if how == "stubborn":
        stay()
    if how == "plain":
        plain()
        sys.exit()
    server.run()
