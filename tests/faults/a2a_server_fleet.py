"""Worker processes of one assistant, on shared databases; killed and started again."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import yaml

from tests.conftest import skip_or_fail
from tests.host.project import Project
from tests.project.tree import ROOT

__all__ = ["Fleet", "Worker", "fleet", "lock_store"]

ADMIN = "postgresql://root@127.0.0.1:5432/postgres"


@dataclass
class Worker:
    """One process."""

    port: int
    process: asyncio.subprocess.Process

    @property
    def url(self) -> str:
        """Its base URL."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def resident_kib(self) -> int:
        """Memory it holds."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")


@dataclass
class Fleet:
    """The processes of one assistant.

    Attributes:
        database: Address of the database they share.
    """

    folder: Path
    model: Path
    database: str
    native: bool = False
    workers: list[Worker] = field(default_factory=list)

    async def start(self, port: int) -> Worker:
        """Start a process; returns when it answers."""
        log = self.log(port).open("ab")
        args = [str(self.folder), str(self.model), str(port), *(["native"] if self.native else [])]
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.faults.a2a_server_worker",
            *args,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        log.close()
        worker = Worker(port, process)
        try:
            async with asyncio.timeout(180):
                await self._until_it_answers(worker)
        except BaseException:
            process.kill()
            await process.wait()
            raise
        return worker

    async def _until_it_answers(self, worker: Worker) -> None:
        async with httpx.AsyncClient(timeout=5) as http:
            while True:
                if worker.process.returncode is not None:
                    raise AssertionError(self.log(worker.port).read_text()[-3000:])
                with contextlib.suppress(httpx.HTTPError):
                    answer = await http.get(worker.url + "/.well-known/agent-card.json")
                    if answer.status_code == 200:
                        return
                await asyncio.sleep(0.2)

    def log(self, port: int) -> Path:
        """What a process writes; kept where `A2A_LOAD_LOGS` says."""
        folder = Path(os.environ.get("A2A_LOAD_LOGS", self.folder))
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"worker-{port}.log"

    async def kill(self, index: int) -> None:
        """Kill a process dead."""
        worker = self.workers[index]
        worker.process.send_signal(signal.SIGKILL)
        await worker.process.wait()

    async def restart(self, index: int) -> None:
        """Start it again at the same port."""
        self.workers[index] = await self.start(self.workers[index].port)


def lock_store(database: str) -> dict[str, Any]:
    """A lock store that is really exclusive: ours where it is there, else the host's on Redis."""
    if importlib.util.find_spec("rasa_react_ext.locks") is not None:
        return {"type": "rasa_react_ext.locks.PostgresLockStore", "url": database}
    return {
        "type": "concurrent_redis",
        "host": "127.0.0.1",
        "port": 6379,
        "db": 9,
        "key_prefix": f"a2aload{uuid4().hex[:8]}",
    }


@contextlib.asynccontextmanager
async def fleet(
    project: Project,
    ports: list[int],
    entry: Mapping[str, Any],
    *,
    shared: bool = True,
    native: bool = False,
) -> AsyncIterator[Fleet]:
    """Processes that serve a project while the block runs.

    Args:
        project: The project.
        ports: A port for each process.
        entry: The channel's settings.
        shared: Whether they share PostgreSQL; else each has files of its own.
        native: Whether the host's own A2A server is run instead of ours.
    """
    archive = await project.train()
    name = f"a2a_server_load_{uuid4().hex}"
    database = f"postgresql://root@127.0.0.1:5432/{name}"
    try:
        admin = await asyncpg.connect(ADMIN)
    except OSError as error:
        skip_or_fail(f"PostgreSQL is not here: {error}")
    await admin.execute(f'CREATE DATABASE "{name}"')
    endpoints = project.folder / "endpoints.yml"
    written = yaml.safe_load(endpoints.read_text())
    if shared:
        written["rasa_react_ext"] = {"store": database}
        written["lock_store"] = lock_store(database)
        written["tracker_store"] = {
            "type": "SQL",
            "dialect": "postgresql",
            "url": "127.0.0.1",
            "port": 5432,
            "db": name,
            "username": "root",
        }
    endpoints.write_text(yaml.safe_dump(written, sort_keys=False))
    (project.folder / "a2a.json").write_text(json.dumps({"description": "A bank.", **entry}))
    made = Fleet(project.folder, archive, database, native)
    try:
        # One after the other, so that only the first has tables to make.
        for port in ports:
            made.workers.append(await made.start(port))
        yield made
    finally:
        for worker in made.workers:
            if worker.process.returncode is None:
                worker.process.terminate()
        for worker in made.workers:
            try:
                await asyncio.wait_for(worker.process.wait(), 30)
            except TimeoutError:
                worker.process.kill()
                await worker.process.wait()
        await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        await admin.close()
