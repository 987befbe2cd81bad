"""`python -m benchmarks.mcp_pool`: calls over one MCP session, beside other clients.

Beside a bare session of the mcp package and beside the host's connection, against the
same server in a process of its own. Rounds alternate, medians count.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.server.fastmcp import FastMCP
from rich.console import Console
from rich.table import Table

from rasa_react_ext.engine.tool import CallContext
from rasa_react_ext.mcp_pool import Pool, PooledTools, ServerSpec

__all__ = ["main"]

RESULT = Path(__file__).parent / "results" / "mcp_pool.json"
WORKERS = 16
TARGETS = {"mcp package": 1.15, "host": 0.6}
_START_SECONDS = 30.0

Call = Callable[[str], Awaitable[object]]
Client = Callable[[str], Any]


@asynccontextmanager
async def ours(url: str) -> AsyncGenerator[Call]:
    """Calls as the engine makes them."""
    async with Pool() as pool:
        tools = PooledTools(pool, ServerSpec(name="bench", url=url))
        (echo,) = await tools.tools()
        context = CallContext(call_id="c", timeout_seconds=30)

        async def call(text: str) -> object:
            result = await tools.call(echo, {"text": text}, context)
            assert result.text == text, result
            return result

        yield call


@asynccontextmanager
async def package(url: str) -> AsyncGenerator[Call]:
    """Calls over a session of the mcp package as it comes."""
    async with (
        streamable_http_client(url) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        await session.list_tools()

        async def call(text: str) -> object:
            return await session.call_tool("echo", {"text": text})

        yield call


@asynccontextmanager
async def host(url: str) -> AsyncGenerator[Call]:
    """Calls as the host makes them: the connection is asked for its session each time."""
    from rasa.shared.utils.mcp.server_connection import MCPServerConnection

    connection = MCPServerConnection("bench", url, "http")
    await connection.connect()
    await (await connection.ensure_active_session()).list_tools()

    async def call(text: str) -> object:
        session = await connection.ensure_active_session()
        return await session.call_tool("echo", {"text": text})

    try:
        yield call
    finally:
        await connection.close()


CLIENTS: dict[str, Client] = {"ours": ours, "mcp package": package, "host": host}


async def one_by_one(client: Client, url: str, calls: int) -> dict[str, float]:
    """Latency and CPU time of calls made one after the other."""
    async with client(url) as call:
        await call("warm")
        cpu = time.process_time()
        taken: list[float] = []
        for number in range(calls):
            began = time.perf_counter()
            await call(str(number))
            taken.append(time.perf_counter() - began)
        cpu = time.process_time() - cpu
    return {"latency_ms": statistics.median(taken) * 1000, "cpu_ms": cpu / calls * 1000}


async def side_by_side(client: Client, url: str, calls: int) -> dict[str, float]:
    """Time per call of calls made by several tasks at once, and sockets in use."""
    async with client(url) as call:
        await call("warm")
        numbers = iter(range(calls))

        async def work() -> None:
            for number in numbers:
                await call(str(number))

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(WORKERS)))
        seconds = time.perf_counter() - began
        sockets = open_sockets()
    return {
        "each_ms": seconds / calls * 1000,
        "calls_per_s": calls / seconds,
        "sockets": float(sockets),
    }


def open_sockets() -> int:
    """Sockets this process holds."""
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(str(link.readlink()).startswith("socket:") for link in links)


def measure(url: str, rounds: int, calls: int) -> dict[str, dict[str, float]]:
    """Medians over rounds in which the clients take turns."""
    samples: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    for _ in range(rounds):
        for name, client in CLIENTS.items():
            found = asyncio.run(one_by_one(client, url, calls))
            found |= asyncio.run(side_by_side(client, url, calls))
            samples[name].append(found)
    return {
        name: {key: statistics.median(sample[key] for sample in taken) for key in taken[0]}
        for name, taken in samples.items()
    }


def serve(port: int) -> None:
    """The server all clients talk to."""
    server = FastMCP("bench", host="127.0.0.1", port=port, log_level="CRITICAL")

    @server.tool()
    async def echo(text: str) -> str:
        """Say it again."""
        return text

    server.run("streamable-http")


def free_port() -> int:
    """A loopback port nobody listens on."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; 1 with --check when a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp_pool", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer calls")
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve:
        serve(given.serve)
        return 0
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.mcp_pool", "--serve", str(port)]
    with subprocess.Popen(command) as server:
        try:
            url = f"http://127.0.0.1:{port}/mcp"
            _wait(url)
            found = measure(url, *((2, 100) if given.quick else (5, 400)))
        finally:
            server.terminate()
    missed = _report(found)
    return 1 if given.check and missed else 0


def _wait(url: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        try:
            httpx.get(url)
        except httpx.ConnectError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the server does not start")


def _report(found: dict[str, dict[str, float]]) -> bool:
    """Print the table and write the file; whether a target is missed."""
    mine = found["ours"]
    ratios = {
        name: {key: mine[key] / found[name][key] for key in ("latency_ms", "each_ms", "cpu_ms")}
        for name in TARGETS
    }
    table = Table(title=f"Calls over one MCP session ({WORKERS} at once where side by side)")
    for column in ("client", "one by one, ms", "CPU, ms", "side by side, ms", "calls/s", "sockets"):
        table.add_column(column, justify="right" if column != "client" else "left")
    keys = ("latency_ms", "cpu_ms", "each_ms", "calls_per_s", "sockets")
    for name, row in found.items():
        table.add_row(name, *(f"{row[key]:.2f}" for key in keys))
    console = Console()
    console.print(table)
    missed = False
    for name, target in TARGETS.items():
        worst = max(ratios[name]["latency_ms"], ratios[name]["each_ms"])
        missed |= worst > target
        verdict = "met" if worst <= target else "missed"
        console.print(
            f"ours / {name}: one by one {ratios[name]['latency_ms']:.2f}, "
            f"side by side {ratios[name]['each_ms']:.2f} (at most {target}: {verdict})"
        )
    result = {
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": {"cpus": os.cpu_count(), "python": platform.python_version()},
        "clients": found,
        "ratios": ratios,
        "targets": TARGETS,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return missed


if __name__ == "__main__":
    sys.exit(main())
