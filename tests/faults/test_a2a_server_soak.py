"""Ten minutes of traffic with all that callers do: what a worker holds stops growing.

Everything that is kept for a time is kept for a minute here, so that ten minutes show
what a day would: rows come and go, and what remains must be flat. The length comes from
the environment: `A2A_SOAK_SECONDS`.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from rasa_react_ext.testing import ModelServer
from tests.a2a_server.test_push import PUSH, Inbox, config, inbox
from tests.faults.a2a_server_fleet import Fleet, Worker, fleet
from tests.host.a2a.bank import BANK_RULES, bank
from tests.host.project import Project

SECONDS = float(os.environ.get("A2A_SOAK_SECONDS", "600"))
KEPT_SECONDS = 60
LOOK_SECONDS = 10.0
AT_ONCE = 3
HEADERS = {"A2A-Version": "1.0"}
ROWS = ("task", "turn", "event", "context", "push_config", "push_outbox")

pytestmark = [pytest.mark.soak, pytest.mark.timeout(SECONDS + 600)]


@dataclass
class Soak:
    """A run.

    Attributes:
        samples: What was held, at every look: the worst of the workers, and all rows.
    """

    fleet: Fleet
    box: Inbox
    http: httpx.AsyncClient
    done: Counter[str] = field(default_factory=Counter)
    samples: list[dict[str, float]] = field(default_factory=list)
    requests: itertools.count[int] = field(default_factory=itertools.count)
    conversations: itertools.count[int] = field(default_factory=itertools.count)

    def url(self) -> str:
        """The next worker, plain round robin."""
        workers = self.fleet.workers
        return workers[next(self.requests) % len(workers)].url

    async def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A call to the next worker, which must succeed."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = (await self.http.post(self.url() + "/", json=body, headers=HEADERS)).json()
        result: dict[str, Any] = answer["result"]
        return result

    async def say(self, context: str, text: str, task: str = "", **more: Any) -> dict[str, Any]:
        """A message, and the task as it is then."""
        params = _message(context, text, task)
        found: dict[str, Any] = (await self.call("SendMessage", {**params, **more}))["task"]
        return found


def _message(context: str, text: str, task: str = "") -> dict[str, Any]:
    said = {
        "messageId": str(uuid4()),
        "role": "ROLE_USER",
        "contextId": context,
        "parts": [{"text": text}],
        **({"taskId": task} if task else {}),
    }
    return {"message": said}


# What callers do


async def _completes(soak: Soak, context: str) -> None:
    """Three turns, reported by push."""
    pushed = {"configuration": config(soak.box)}
    task = await soak.say(context, "start transfer_money", **pushed)
    await soak.say(context, f"set recipient {context}", task["id"])
    task = await soak.say(context, "set amount 5", task["id"])
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task


async def _cancels(soak: Soak, context: str) -> None:
    task = await soak.say(context, "start transfer_money")
    task = await soak.call("CancelTask", {"id": task["id"]})
    assert task["status"]["state"] == "TASK_STATE_CANCELED", task


async def _leaves_it_open(soak: Soak, context: str) -> None:
    task = await soak.say(context, "start transfer_money")
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", task


async def _hangs_up(soak: Soak, context: str) -> None:
    """A stream that is left after its first event; the task is followed at another worker."""
    body = _message(context, "start show_balance")
    async with soak.http.stream(
        "POST", soak.url() + "/message:stream", json=body, headers=HEADERS
    ) as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data:"):
                break
    tasks = await soak.call("ListTasks", {"contextId": context})
    task_id = tasks["tasks"][0]["id"]
    address = f"{soak.url()}/tasks/{task_id}:subscribe"
    async with soak.http.stream("POST", address, headers=HEADERS) as stream:
        async for _ in stream.aiter_lines():
            pass
    task = await soak.call("GetTask", {"id": task_id})
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task


async def _says_it_twice(soak: Soak, context: str) -> None:
    params = _message(context, "start show_balance")
    first = await soak.call("SendMessage", params)
    again = await soak.call("SendMessage", params)
    assert first["task"]["id"] == again["task"]["id"]


_DEEDS = (_completes, _cancels, _leaves_it_open, _hangs_up, _says_it_twice)


async def _caller(soak: Soak, until: float) -> None:
    while time.monotonic() < until:
        number = next(soak.conversations)
        deed = _DEEDS[number % len(_DEEDS)]
        await deed(soak, f"n{number}")
        soak.done[deed.__name__.strip("_")] += 1


# What is held


async def _held(soak: Soak) -> dict[str, float]:
    """The most that a worker holds, and all rows."""
    held: dict[str, float] = {}
    for worker in soak.fleet.workers:
        health = (await soak.http.get(worker.url + "/a2a/health")).json()
        mine = {
            "tasks": health["asyncio_tasks"] - health["running_here"],
            "MiB": worker.resident_kib / 1024,
            "files": _entries(worker, "fd"),
            "threads": _entries(worker, "task"),
        }
        held = {name: max(value, held.get(name, 0)) for name, value in mine.items()}
        held["parked"] = health["open_contexts"]
    connection = await asyncpg.connect(soak.fleet.database)
    for table in ROWS:
        count = await connection.fetchval(f"SELECT count(*) FROM rasa_react_ext_a2a_{table}")
        held[table] = int(count)
    held["connections"] = await connection.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    )
    await connection.close()
    return held


def _entries(worker: Worker, folder: str) -> int:
    return len(list(Path(f"/proc/{worker.process.pid}/{folder}").iterdir()))


async def _watch(soak: Soak, until: float) -> None:
    while time.monotonic() < until:
        soak.samples.append(await _held(soak))
        await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _soaking(project: Project, ports: list[int]) -> AsyncIterator[Soak]:
    entry = {
        **PUSH,
        "max_contexts": 0,
        "task_retention_seconds": KEPT_SECONDS,
        "a2a_message_cache_ttl_seconds": KEPT_SECONDS,
        "input_required_ttl_seconds": KEPT_SECONDS,
    }
    whole = bank(project)
    # The host keeps a timer of each conversation until its session is over, in minutes.
    ended = whole.domain.replace("session_expiration_time: 60", "session_expiration_time: 1")
    assert ended != whole.domain
    limits = httpx.Limits(max_connections=100)
    async with (
        inbox() as box,
        fleet(whole.having(domain=ended), ports, entry) as workers,
        httpx.AsyncClient(timeout=60, limits=limits) as http,
    ):
        yield Soak(workers, box, http)


def _shown(soak: Soak) -> str:
    names = list(soak.samples[0])
    every = max(1, len(soak.samples) // 10)
    rows = [[f"{sample[name]:.0f}" for name in names] for sample in soak.samples[::every]]
    lines = [names, *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(names))]
    return "\n".join(
        "  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True))
        for line in lines
    )


async def test_what_workers_hold_is_flat_once_what_is_kept_for_a_time_has_been_let_go(
    project: Project,
    model: ModelServer,
    free_port: Callable[[], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    model.use(list(BANK_RULES))
    async with _soaking(project, [free_port() for _ in range(3)]) as soak:
        until = time.monotonic() + SECONDS
        async with asyncio.TaskGroup() as group:
            group.create_task(_watch(soak, until))
            for _ in range(AT_ONCE):
                group.create_task(_caller(soak, until))
        # Tasks that were left open and old rows are let go once a minute.
        await asyncio.sleep(2 * KEPT_SECONDS + LOOK_SECONDS)
        soak.samples.append(await _held(soak))
        with capsys.disabled():
            print(f"\n{dict(soak.done)} in {SECONDS:.0f} s\n{_shown(soak)}\n{soak.samples[-1]}")
        _is_flat(soak)


def _is_flat(soak: Soak) -> None:
    """The last third of the run holds what the middle third held."""
    running = soak.samples[:-1]
    third = len(running) // 3
    for name in running[0]:
        middle, late = (
            median(sample[name] for sample in part)
            for part in (running[third : 2 * third], running[2 * third :])
        )
        slack = {"MiB": 10, "tasks": 3, "files": 6, "threads": 2, "connections": 4}.get(name)
        assert late <= middle + (slack if slack is not None else 0.25 * middle + 20), name
    after = soak.samples[-1]
    assert after["parked"] == 0
    assert [after[table] for table in ("task", "turn", "event", "push_outbox")] == [0, 0, 0, 0]
    assert soak.box.got, "no push came"
