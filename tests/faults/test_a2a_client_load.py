"""Background tasks whose agents report out of order and twice, while workers are killed.

Every result reaches its conversation exactly once, no conversation is stuck, and nobody
without a task's secret changes anything. Sizes come from the environment:
`A2A_CLIENT_TASKS`, `A2A_CLIENT_KILLS`; the workers' log goes to the file `A2A_CLIENT_LOG`.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rasa_react_ext.testing import ModelServer
from tests.faults.a2a_client_remote import LoadRemote
from tests.host.external.words import COMMANDS, DOMAIN, FLOWS
from tests.host.project import Project, hosts_own_warnings
from tests.mcp_pool.mcp_server import Served, free_port
from tests.project.tree import ROOT
from tests.store.conftest import ADMIN

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1500)]

TASKS = int(os.environ.get("A2A_CLIENT_TASKS", "500"))
KILLS = int(os.environ.get("A2A_CLIENT_KILLS", "6"))
LOG = os.environ.get("A2A_CLIENT_LOG", "")
AT_ONCE = 8
START_SECONDS = 120.0
SETTLE_SECONDS = 420.0
LOCK_LIFETIME = "60"


@dataclass
class Load:
    """One run.

    Attributes:
        folder: The project's files.
        archive: The trained model.
        remote: The remote agent.
        workers: How many processes share the load.
        heard: What users were told, by sender.
        counts: What happened.
    """

    folder: Path
    archive: Path
    remote: LoadRemote
    workers: int
    port: int
    heard: dict[str, list[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)
    users: Served | None = None
    saved: Any = None
    log: Any = asyncio.subprocess.DEVNULL
    over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        """Address of the workers."""
        return f"http://127.0.0.1:{self.port}"

    async def start_worker(self) -> asyncio.subprocess.Process:
        """Start one; returns when it takes messages."""
        assert self.users is not None
        ready = self.folder / f"ready-{uuid4().hex}"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.faults.a2a_client_worker",
            str(self.folder),
            str(self.archive),
            str(self.port),
            self.users.url,
            cwd=ROOT,
            env={
                **os.environ,
                "TICKET_LOCK_LIFETIME": LOCK_LIFETIME,
                "READY_FILE": str(ready),
            },
            stdout=self.log,
            stderr=self.log,
        )
        async with asyncio.timeout(START_SECONDS):
            while not await asyncio.to_thread(ready.exists):
                assert process.returncode is None, "a worker ended at once"
                await asyncio.sleep(0.1)
        return process

    async def kill(self) -> None:
        """Kill one worker in the middle of whatever it does, and start another."""
        victim = random.randrange(len(self.processes))
        self.processes[victim].kill()
        await self.processes[victim].wait()
        self.counts["killed"] += 1
        self.processes[victim] = await self.start_worker()


@pytest.mark.parametrize(("workers", "database"), [(2, "postgresql"), (1, "sqlite")])
async def test_background_results_survive_workers_that_are_killed(
    project: Project, model: ModelServer, workers: int, database: str
) -> None:
    model.use(COMMANDS)
    remote = LoadRemote()
    remote.start()
    try:
        async with prepared(project, remote, workers, database) as load:
            started = time.monotonic()
            killing = asyncio.create_task(kill_now_and_then(load))
            forging = asyncio.create_task(forge(load))
            await talk_to_all(load)
            await settled(load)
            load.over.set()
            await asyncio.gather(killing, forging)
            await settled(load)
            seconds = time.monotonic() - started
            await report(load, database, seconds)
            await check(load)
    finally:
        remote.stop()


@asynccontextmanager
async def prepared(
    project: Project, remote: LoadRemote, workers: int, database: str
) -> AsyncIterator[Load]:
    """The project trained, its stores empty, users listening, workers running."""
    port = free_port()
    name = f"rasa_react_ext_load_{uuid4().hex}"
    with_agent = project.having(
        agents={"broker": agent_config(remote, port)}, flows=FLOWS, domain=DOMAIN
    ).with_settings(agents={"broker": {"allow_private_push_url": True}})
    archive = await with_agent.train()
    admin = await asyncpg.connect(ADMIN) if database == "postgresql" else None
    if admin is not None:
        await admin.execute(f'CREATE DATABASE "{name}"')
    write_stores(project.folder, database, name)
    load = Load(folder=project.folder, archive=archive, remote=remote, workers=workers, port=port)
    if LOG:
        load.log = Path(LOG).open("ab")  # noqa: ASYNC230, SIM115 - open as long as the workers
    load.users = Served(lambda: users(load), "/heard")
    load.users.start()
    try:
        load.processes = list(await asyncio.gather(*(load.start_worker() for _ in range(workers))))
        yield load
    finally:
        for process in load.processes:
            if process.returncode is None:
                process.kill()
            await process.wait()
        load.users.stop()
        if LOG:
            load.log.close()
        if load.saved is not None:
            load.saved.engine.dispose()
        if admin is not None:
            await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
            await admin.close()


def agent_config(remote: LoadRemote, port: int) -> dict[str, Any]:
    """The config.yml of the agent."""
    return {
        "agent": {"name": "broker", "protocol": "A2A", "description": "Trades for the customer."},
        "configuration": {
            "agent_card": remote.card_url,
            "push_notification_url": f"http://127.0.0.1:{port}",
            "timeout": 10,
        },
    }


def write_stores(folder: Path, database: str, name: str) -> None:
    """Put tracker store, lock store and our store into endpoints.yml."""
    file = folder / "endpoints.yml"
    endpoints = yaml.safe_load(file.read_text())
    if database == "postgresql":
        url = f"postgresql://root@127.0.0.1:5432/{name}"
        endpoints["tracker_store"] = {
            "type": "SQL",
            "dialect": "postgresql",
            "url": "127.0.0.1",
            "port": 5432,
            "username": "root",
            "db": name,
        }
        endpoints["lock_store"] = {"type": "rasa_react_ext.locks.PostgresLockStore", "url": url}
        endpoints["rasa_react_ext"] = {"store": url}
    else:
        endpoints["tracker_store"] = {
            "type": "SQL",
            "dialect": "sqlite",
            "db": str(folder / "tracker.db"),
        }
        endpoints["rasa_react_ext"] = {"store": str(folder / "store.db")}
    file.write_text(yaml.safe_dump(endpoints))


def users(load: Load) -> Starlette:
    """Where the assistant calls its users back."""

    async def hear(request: Request) -> Response:
        message = await request.json()
        load.heard.setdefault(message["recipient_id"], []).append(message.get("text", ""))
        return Response()

    return Starlette(routes=[Route("/heard", hear, methods=["POST"])])


async def talk_to_all(load: Load) -> None:
    """Let every user start a task; one whose turn was lost says it again."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def talk(number: int) -> None:
        async with limit, httpx.AsyncClient(trust_env=False, timeout=60) as http:
            while not await begun(load, number):
                body = {"sender": f"user-{number}", "message": f"start trade {number}"}
                try:
                    answer = await http.post(f"{load.url}/webhooks/callback/webhook", json=body)
                    load.counts[f"webhook {answer.status_code}"] += 1
                except httpx.HTTPError:
                    load.counts["turns repeated"] += 1
                    await asyncio.sleep(1)
                else:
                    return

    await asyncio.gather(*(talk(number) for number in range(TASKS)))


async def begun(load: Load, number: int) -> bool:
    """Whether a conversation knows of its flow already."""
    if not load.counts["turns repeated"]:
        return False
    events = await events_of(load, f"user-{number}")
    return "flow_started" in [event.type_name for event in events]


async def events_of(load: Load, sender: str) -> list[Any]:
    """The saved conversation of a user."""
    if load.saved is None:
        load.saved = tracker_store(load.folder)
    tracker = await load.saved.retrieve(sender)
    return list(tracker.events) if tracker is not None else []


def tracker_store(folder: Path) -> Any:
    """The conversations, as the workers save them."""
    from rasa.core.tracker_stores.sql_tracker_store import SQLTrackerStore
    from rasa.shared.core.domain import Domain

    entry = dict(yaml.safe_load((folder / "endpoints.yml").read_text())["tracker_store"])
    entry.pop("type")
    if "url" in entry:
        entry["host"] = entry.pop("url")
    with hosts_own_warnings():
        return SQLTrackerStore(Domain.load(str(folder / "domain.yml")), **entry)


async def kill_now_and_then(load: Load) -> None:
    """Kill a worker every few seconds, as often as asked for."""
    for _ in range(KILLS):
        try:
            async with asyncio.timeout(random.uniform(4, 12)):
                await load.over.wait()
                return
        except TimeoutError:
            await load.kill()


async def forge(load: Load) -> None:
    """Report ends of others' tasks, with wrong secrets and with those of other tasks."""
    async with httpx.AsyncClient(trust_env=False, timeout=10) as http:
        while not load.over.is_set():
            await asyncio.sleep(0.2)
            known = list(load.remote.targets.items())
            if len(known) < 2:
                continue
            (task_id, target), (_, other) = random.sample(known, 2)
            status = {
                "state": "TASK_STATE_COMPLETED",
                "message": {"role": "ROLE_AGENT", "messageId": "f", "parts": [{"text": "Forged"}]},
            }
            body = {"statusUpdate": {"taskId": task_id, "contextId": "x", "status": status}}
            for secret in ("", "guess", other.token):
                headers = {"X-A2A-Notification-Token": secret}
                try:
                    answer = await http.post(target.url, json=body, headers=headers)
                except httpx.HTTPError:
                    continue
                load.counts[f"forged {answer.status_code}"] += 1


async def settled(load: Load) -> None:
    """Wait until nothing is open any more."""
    async with httpx.AsyncClient(trust_env=False, timeout=10) as http:
        async with asyncio.timeout(SETTLE_SECONDS):
            while True:
                try:
                    answer = await http.get(f"{load.url}/webhooks/task_updates/health")
                    load.counts["open"] = answer.json()["open"]
                    if not answer.json()["open"] and not answer.json()["unread"]:
                        load.counts["dead"] = answer.json()["dead"]
                        return
                except (httpx.HTTPError, ValueError):
                    pass
                await asyncio.sleep(0.5)


async def report(load: Load, database: str, seconds: float) -> None:
    """Print what happened."""
    locks = "PostgresLockStore" if database == "postgresql" else "in memory"
    print(f"\n{load.workers} worker(s), {database}, lock store {locks}: {TASKS} tasks")
    print(f"  {seconds:.0f} s, {load.counts['killed']} workers killed")
    for name, count in sorted((load.counts + load.remote.done).items()):
        print(f"  {name}: {count}")
    print(f"  answers to reports: {dict(load.remote.statuses)}")


async def check(load: Load) -> None:
    """Every result once in its conversation, in the end nothing waiting."""
    wrong: list[str] = []
    told_again = 0
    for number in range(TASKS):
        sender = f"user-{number}"
        events = await events_of(load, sender)
        texts = [event.text for event in events if event.type_name == "bot"]
        if texts.count(f"Result {number}") != 1 or texts.count("Come again.") != 1:
            wrong.append(f"{sender}: {texts}")
        if any("Result" in text and text != f"Result {number}" for text in texts):
            wrong.append(f"{sender} got another's result: {texts}")
        if "Forged" in str(texts):
            wrong.append(f"{sender} was told a forged result")
        heard = load.heard.get(sender, [])
        if f"Result {number}" not in heard:
            wrong.append(f"{sender} was not told: {heard}")
        told_again += max(0, heard.count(f"Result {number}") - 1)
    print(f"  told again after a kill between telling and saving: {told_again}")
    assert wrong == []
    assert load.counts["dead"] == 0
    assert not [name for name in load.counts if name.startswith("forged 2")]
