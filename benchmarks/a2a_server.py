"""`python -m benchmarks.a2a_server`: this A2A server beside the host's, in the same run.

One-turn flows in contexts of their own. The host's server keeps all in memory and runs
one process; ours writes SQLite, then PostgreSQL with one, two and three processes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import socket
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from tests.faults.a2a_server_fleet import Fleet, fleet
from tests.host.a2a.bank import BANK_RULES, bank
from tests.host.project import Project, agent_config

HEADERS = {"A2A-Version": "1.0"}
AT_ONCE = 4


@dataclass(frozen=True)
class Measured:
    """What one server did."""

    name: str
    seconds: list[float]
    took: float

    def row(self) -> str:
        ordered = sorted(self.seconds)
        p50, p95 = (1000 * ordered[int(len(ordered) * share)] for share in (0.5, 0.95))
        rate = len(ordered) / self.took
        return f"| {self.name} | {rate:.1f} | {p50:.0f} ms | {p95:.0f} ms |"


async def main(requests: int, rounds: int) -> None:
    os.environ["OPENAI_API_KEY"] = "offline"
    from rasa.utils.log_utils import configure_structlog

    from rasa_react_ext.testing import ScriptedModel

    configure_structlog(logging.ERROR)
    rows: dict[str, list[Measured]] = {}
    with (
        ScriptedModel(list(BANK_RULES)).serve() as model,
        tempfile.TemporaryDirectory() as folder,
    ):
        os.chdir(folder)
        for plan in [*_SETUPS[:2] * rounds, *_SETUPS[2:]]:
            project = bank(Project(folder=Path(folder), model_url=model.base_url, servers={}))
            clerk = agent_config(servers=())
            measured = await _measure(project.having(agents={"clerk": clerk}), plan, requests)
            rows.setdefault(plan["name"], []).append(measured)
    print("| server | requests/s | p50 | p95 |\n| --- | ---: | ---: | ---: |")
    for name, runs in rows.items():
        seconds = [second for run in runs for second in run.seconds]
        print(Measured(name, seconds, sum(run.took for run in runs)).row())
    print(f"overhead of the port: {await _overhead():.2f} ms per request")


_SETUPS: list[dict[str, Any]] = [
    {"name": "host, in memory, 1 process", "native": True, "shared": False, "processes": 1},
    {"name": "ours, SQLite, 1 process", "shared": False, "processes": 1},
    {"name": "ours, PostgreSQL, 1 process", "processes": 1},
    {"name": "ours, PostgreSQL, 2 processes", "processes": 2},
    {"name": "ours, PostgreSQL, 3 processes", "processes": 3},
]


async def _measure(project: Project, plan: dict[str, Any], requests: int) -> Measured:
    ports = [_free_port() for _ in range(plan["processes"])]
    native, shared = plan.get("native", False), plan.get("shared", True)
    async with (
        fleet(project, ports, {"max_contexts": 0}, native=native, shared=shared) as made,
        httpx.AsyncClient(timeout=60) as http,
    ):
        await _load(http, made, 20)
        began = time.monotonic()
        seconds = await _load(http, made, requests)
        return Measured(plan["name"], seconds, time.monotonic() - began)


async def _load(http: httpx.AsyncClient, made: Fleet, requests: int) -> list[float]:
    seconds: list[float] = []
    numbers = iter(range(requests))

    async def caller() -> None:
        for number in numbers:
            worker = made.workers[number % len(made.workers)]
            began = time.monotonic()
            answer = await http.post(worker.url + "/", json=_message(), headers=HEADERS)
            seconds.append(time.monotonic() - began)
            state = answer.json()["result"]["task"]["status"]["state"]
            assert state == "TASK_STATE_COMPLETED", answer.text

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(caller())
    return seconds


def _message() -> dict[str, Any]:
    said = {
        "messageId": str(uuid4()),
        "contextId": str(uuid4()),
        "role": "ROLE_USER",
        "parts": [{"text": "start show_balance"}],
    }
    params = {"message": said}
    return {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}


async def _overhead(requests: int = 500) -> float:
    """What the bridge adds to a request, against a plain handler of the host's server."""
    from sanic import HTTPResponse, Sanic
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    from rasa_react_ext.host.a2a.bridge import bridge

    body = json.dumps(_message()).encode()

    async def answer(request: Any) -> Response:
        return Response(await request.body(), media_type="application/json")

    app = Sanic(f"overhead_{uuid4().hex}", configure_logging=False)
    app.config.TOUCHUP = False
    app.blueprint(bridge(Starlette(routes=[Route("/", answer, methods=["POST"])]), prefix="/"))

    async def plain(request: Any) -> HTTPResponse:
        return HTTPResponse(request.body, content_type="application/json")

    app.add_route(plain, "/plain", methods=["POST"])
    port = _free_port()
    server = await app.create_server(
        "127.0.0.1", port, return_asyncio_server=True, access_log=False
    )
    assert server is not None
    await server.startup()
    try:
        async with httpx.AsyncClient() as http:
            times: dict[str, list[float]] = {"/": [], "/plain": []}
            for _ in range(requests):
                for path, seen in times.items():
                    began = time.perf_counter()
                    await http.post(f"http://127.0.0.1:{port}{path}", content=body)
                    seen.append(time.perf_counter() - began)
    finally:
        server.close()
    medians = {path: sorted(seen)[len(seen) // 2] for path, seen in times.items()}
    return 1000 * (medians["/"] - medians["/plain"])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    asyncio.run(main(given.requests, given.rounds))
