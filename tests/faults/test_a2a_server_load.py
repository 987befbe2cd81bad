"""Three workers behind round robin, retries and kills: no turn twice, none lost, none mixed.

Sizes come from the environment: `A2A_LOAD_CONVERSATIONS`, `A2A_LOAD_KILLS`.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest

from rasa_react_ext.testing import ModelServer
from tests.a2a_server.serving import state_of
from tests.faults.a2a_server_fleet import Fleet, fleet, lock_store
from tests.host.a2a.bank import BANK_RULES, bank
from tests.host.project import Project

pytestmark = [pytest.mark.faults, pytest.mark.timeout(1800)]

CONVERSATIONS = int(os.environ.get("A2A_LOAD_CONVERSATIONS", "300"))
KILLS = int(os.environ.get("A2A_LOAD_KILLS", "4"))
AT_ONCE = 12
HEADERS = {"A2A-Version": "1.0"}


@dataclass
class Run:
    """What happened.

    Attributes:
        counts: Turns by outcome, and what clients had to do.
        wrong: What must not have happened.
        answered: Message ids by conversation, with the state they were answered with.
        disturbed: Conversations in which something was said again under a new id.
        seconds: How long answered turns took.
    """

    fleet: Fleet
    http: httpx.AsyncClient = field(default_factory=httpx.AsyncClient)
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    answered: dict[str, dict[str, str]] = field(default_factory=dict)
    disturbed: set[str] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)
    turn: itertools.count[int] = field(default_factory=itertools.count)
    message: itertools.count[int] = field(default_factory=itertools.count)

    def next_url(self) -> str:
        """Plain round robin."""
        workers = self.fleet.workers
        return workers[next(self.turn) % len(workers)].url

    async def conversation(self, number: int) -> None:
        """Five turns of one caller."""
        name = f"n{number}"
        streaming = number % 2 == 0
        steps = [
            ("start transfer_money", "Who gets the money?"),
            (f"set recipient {name}", "How much?"),
            ("set amount 5", f"5.0 sent to {name}."),
            ("start show_balance", "You have 7 coins."),
            ("start transfer_money", "?"),
        ]
        task_id = ""
        for text, expected in steps:
            task = await self._until_answered(name, text, task_id, streaming=streaming)
            said = "".join(p.get("text", "") for p in task["status"]["message"]["parts"])
            state = state_of(task)
            self.counts[state] += 1
            if task["contextId"] != name:
                self.wrong.append(f"{name}: answered for {task['contextId']}")
            # A turn whose worker died may have been saved; said again, it is answered otherwise.
            if expected not in said and name not in self.disturbed:
                self.wrong.append(f"{name}: {text!r} answered with {said!r} ({state})")
            task_id = task["id"] if state == "input_required" else ""

    async def _until_answered(
        self, name: str, text: str, task_id: str, *, streaming: bool
    ) -> dict[str, Any]:
        """Send until the dialogue has done it; a turn that a killed worker lost is said again."""
        while True:
            began = time.monotonic()
            task, message_id = await self._delivered(name, text, task_id, streaming=streaming)
            self.answered.setdefault(name, {})[message_id] = state_of(task)
            if state_of(task) != "failed":
                self.seconds.append(time.monotonic() - began)
                return task
            self.counts["said again"] += 1
            self.disturbed.add(name)
            task_id = ""

    async def _delivered(
        self, name: str, text: str, task_id: str, *, streaming: bool
    ) -> tuple[dict[str, Any], str]:
        """Send one message until its task has ended or waits, whatever breaks meanwhile."""
        said = {
            "messageId": str(uuid4()),
            "role": "ROLE_USER",
            "contextId": name,
            "parts": [{"text": text}],
            **({"taskId": task_id} if task_id else {}),
        }
        twice = next(self.message) % 10 == 0
        async with asyncio.timeout(120):
            while True:
                try:
                    if twice:
                        twice = False
                        self.counts["sent twice"] += 1
                        await asyncio.gather(
                            self._send(said, streaming=False), self._send(said, streaming=False)
                        )
                    task = await self._send(said, streaming=streaming)
                except httpx.HTTPError:
                    self.counts["broken"] += 1
                    task = None
                if task is not None and state_of(task) not in ("submitted", "working"):
                    return task, str(said["messageId"])
                await asyncio.sleep(0.2)

    async def _send(self, said: dict[str, Any], *, streaming: bool) -> dict[str, Any] | None:
        """The task; None while it is in flight."""
        url = self.next_url()
        if not streaming:
            answer = await self.http.post(
                url + "/message:send", json={"message": said}, headers=HEADERS
            )
            if answer.status_code == 409:
                self.counts["in flight"] += 1
                return None
            return self._task(answer.json(), said)
        task: dict[str, Any] | None = None
        async with self.http.stream(
            "POST", url + "/message:stream", json={"message": said}, headers=HEADERS
        ) as stream:
            if stream.status_code == 409:
                self.counts["in flight"] += 1
                return None
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    event = json.loads(line[5:])
                    if "task" in event:
                        task = event["task"]
                    elif "statusUpdate" in event and task is not None:
                        task["status"] = event["statusUpdate"]["status"]
                    elif "error" in event:
                        return self._task(event, said)
        if stream.status_code != 200:
            raise AssertionError(f"{stream.status_code} {await stream.aread()!r}")
        return task

    def _task(self, answer: dict[str, Any], said: dict[str, Any]) -> dict[str, Any] | None:
        if "task" in answer:
            task: dict[str, Any] = answer["task"]
            return task
        status = answer.get("error", {}).get("status")
        if status == "FAILED_PRECONDITION":
            # The worker of the task died; the caller goes on with a new one.
            if said.pop("taskId", None) is not None:
                said["messageId"] = str(uuid4())
                self.counts["task gone"] += 1
            return None
        raise AssertionError(f"{answer}")


async def _trouble(run: Run, done: asyncio.Event) -> None:
    """Kill a worker now and then, and start it again."""
    for kill in range(KILLS):
        try:
            await asyncio.wait_for(done.wait(), 15)
            return
        except TimeoutError:
            index = kill % len(run.fleet.workers)
            await run.fleet.kill(index)
            run.counts["kills"] += 1
            await run.fleet.restart(index)


async def _at_work(run: Run, numbers: range) -> None:
    waiting = iter(numbers)

    async def caller() -> None:
        for number in waiting:
            await run.conversation(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(caller())


async def _read_trackers(run: Run) -> None:
    """Every message is in its own dialogue, at most once, and exactly once if it was answered."""
    connection = await asyncpg.connect(run.fleet.database)
    rows = await connection.fetch("SELECT sender_id, data FROM events WHERE type_name = 'user'")
    left = await connection.fetchval(
        "SELECT count(*) FROM rasa_react_ext_a2a_turn WHERE status = 'open'"
    )
    open_states = await connection.fetch(
        "SELECT DISTINCT state FROM rasa_react_ext_a2a_task WHERE NOT ended"
    )
    await connection.close()
    seen: dict[str, Counter[str]] = {}
    for row in rows:
        event = json.loads(row["data"])
        name = event["metadata"]["a2a"]["context_id"]
        if row["sender_id"] != f"a2a:anonymous:{name}":
            run.wrong.append(f"{row['sender_id']} heard {name}")
        seen.setdefault(name, Counter())[event["metadata"]["a2a"]["message_id"]] += 1
    for name, answers in run.answered.items():
        for message_id, state in answers.items():
            times = seen.get(name, Counter())[message_id]
            if times > 1 or (times == 0 and state != "failed"):
                run.wrong.append(f"{name}: a message answered as {state} was heard {times} times")
    if left:
        run.wrong.append(f"{left} turns are open")
    if {row["state"] for row in open_states} - {"input-required"}:
        run.wrong.append(f"open tasks: {open_states}")


async def _idle(run: Run) -> tuple[list[dict[str, Any]], list[int]]:
    counts = []
    # Longer than the lease of turns whose worker was killed, and than a pause in a connection.
    await asyncio.sleep(5)
    for worker in run.fleet.workers:
        async with asyncio.timeout(60), httpx.AsyncClient() as http:
            while True:
                health = (await http.get(worker.url + "/a2a/health")).json()
                if health["running_here"] == 0:
                    break
                await asyncio.sleep(0.2)
        counts.append(health)
    return counts, [worker.resident_kib for worker in run.fleet.workers]


async def test_b91_b90_b99_nothing_is_lost_doubled_or_mixed_while_workers_die(
    project: Project,
    model: ModelServer,
    free_port: Callable[[], int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    model.use(list(BANK_RULES))
    ports = [free_port() for _ in range(3)]
    entry = {"max_contexts": 0, "lease_seconds": 3}
    limits = httpx.Limits(max_connections=100)
    async with fleet(bank(project), ports, entry) as workers:
        run = Run(workers)
        async with httpx.AsyncClient(timeout=60, limits=limits) as run.http:
            await _at_work(run, range(12))
        before, memory_before = await _idle(run)
        began = time.monotonic()
        done = asyncio.Event()
        async with (
            httpx.AsyncClient(timeout=60, limits=limits) as run.http,
            asyncio.TaskGroup() as group,
        ):
            trouble = group.create_task(_trouble(run, done))
            await _at_work(run, range(100, 100 + CONVERSATIONS))
            done.set()
            await trouble
        took = time.monotonic() - began
        after, memory_after = await _idle(run)
        await _read_trackers(run)
        run.seconds.sort()
        with capsys.disabled():
            print(
                f"\nlocks: {lock_store('')['type']}; {CONVERSATIONS} conversations of 5 turns in "
                f"{took:.0f} s ({5 * CONVERSATIONS / took:.1f} turns/s), "
                f"p50 {run.seconds[len(run.seconds) // 2]:.2f} s, "
                f"p95 {run.seconds[int(len(run.seconds) * 0.95)]:.2f} s; {dict(run.counts)}; "
                f"asyncio tasks {[c['asyncio_tasks'] for c in before]} -> "
                f"{[c['asyncio_tasks'] for c in after]}; MiB {[m // 1024 for m in memory_before]}"
                f" -> {[m // 1024 for m in memory_after]}; parked {after[0]['open_contexts']}"
            )
        assert run.wrong == []
        assert max(c["asyncio_tasks"] for c in after) <= max(c["asyncio_tasks"] for c in before) + 5
        assert run.counts["sent twice"] >= CONVERSATIONS * 5 // 10
