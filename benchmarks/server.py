"""MCP servers for measurements, in a process of their own.

`python -m benchmarks.server --count 5 --initialize-ms 300` serves on free loopback ports
and prints the addresses as one line of JSON. Each server tells under `/sessions` how many
sessions are open.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["main", "tool_names"]


def tool_names(number: int) -> tuple[str, str, str]:
    """The tools of a server: one that waits, one that answers at once, one that only reads."""
    return f"wait_{number}", f"instant_{number}", f"read_{number}"


class Counted:
    """An MCP application that takes its time to open a session and counts what is open.

    Args:
        application: The application behind.
        initialize_seconds: Delay before `initialize` is passed on.
    """

    def __init__(self, application: ASGIApp, initialize_seconds: float) -> None:
        self._application = application
        self._initialize_seconds = initialize_seconds
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["method"] == "DELETE":
                self.open -= 1
            elif scope["method"] == "POST" and _names_no_session(scope):
                self.open += 1
                await asyncio.sleep(self._initialize_seconds)
        await self._application(scope, receive, send)


def _names_no_session(scope: Scope) -> bool:
    """Only `initialize` comes without the session's id."""
    return all(name != b"mcp-session-id" for name, _ in scope["headers"])


def application(number: int, initialize_seconds: float) -> ASGIApp:
    """One server, with its count of open sessions under `/sessions`."""
    server = FastMCP(f"bench-{number}", log_level="ERROR")
    wait, instant, read = tool_names(number)

    async def do_wait(ms: int, label: int) -> str:
        await asyncio.sleep(ms / 1000)
        return f"waited for {label}"

    async def do_instant(n: int) -> str:
        return f"result {n}"

    server.add_tool(do_wait, name=wait, description="Answers after some milliseconds.")
    server.add_tool(do_instant, name=instant, description="Answers at once.")
    only_reads = ToolAnnotations(readOnlyHint=True)
    server.add_tool(do_instant, name=read, description="Reads at once.", annotations=only_reads)
    counted = Counted(server.streamable_http_app(), initialize_seconds)

    async def sessions(_: Request) -> JSONResponse:
        return JSONResponse({"open": counted.open})

    count = Starlette(routes=[Route("/sessions", sessions)])

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        target = count if scope.get("path") == "/sessions" else counted
        await target(scope, receive, send)

    return route


def _listening() -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.bind(("127.0.0.1", 0))
    bound.listen()  # who has the address may connect before the server accepts
    return bound


async def _serve(count: int, initialize_seconds: float) -> None:
    sockets = [_listening() for _ in range(count)]
    servers = [
        uvicorn.Server(
            uvicorn.Config(
                application(number, initialize_seconds),
                log_level="error",
                access_log=False,
                timeout_graceful_shutdown=1,
            )
        )
        for number in range(1, count + 1)
    ]
    urls = [f"http://127.0.0.1:{bound.getsockname()[1]}/mcp" for bound in sockets]
    sys.stdout.write(json.dumps(urls) + "\n")
    sys.stdout.flush()
    await asyncio.gather(
        *(server.serve([bound]) for server, bound in zip(servers, sockets, strict=True))
    )


def main(arguments: list[str] | None = None) -> None:
    """Serve until the process is told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1, help="number of servers")
    parser.add_argument("--initialize-ms", type=float, default=0, help="delay of initialize")
    given: Any = parser.parse_args(arguments)
    asyncio.run(_serve(given.count, given.initialize_ms / 1000))


if __name__ == "__main__":
    main()
