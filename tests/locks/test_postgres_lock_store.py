"""Nobody else has a conversation while one has it, in whatever process."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.store import Database
from rasa_react_ext.store.ticket import Tickets
from tests.conftest import skip_or_fail
from tests.host.interruption.speaker import HEAVY
from tests.store.conftest import ADMIN

pytestmark = [pytest.mark.host, pytest.mark.postgresql]


@pytest.fixture
async def url() -> AsyncGenerator[str]:
    """An empty PostgreSQL database."""
    name = f"rasa_react_ext_test_{uuid4().hex}"
    try:
        admin = await asyncpg.connect(ADMIN)
    except OSError as error:
        skip_or_fail(f"PostgreSQL is not here: {error}")
    await admin.execute(f'CREATE DATABASE "{name}"')
    try:
        yield f"postgresql://root@127.0.0.1:5432/{name}"
    finally:
        await admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        await admin.close()


@pytest.fixture
async def locks(url: str) -> AsyncGenerator[Any]:
    """The lock store, as the host makes it."""
    store = made(url)
    yield store
    await store.aclose()


def made(url: str) -> Any:
    from rasa.core.lock_store import LockStore
    from rasa.utils.endpoints import EndpointConfig

    return LockStore.create(EndpointConfig(url=url, type="rasa_react_ext.locks.PostgresLockStore"))


async def test_d9_turns_of_one_conversation_run_one_after_the_other(locks: Any) -> None:
    inside, turns = 0, 0

    async def turn() -> None:
        nonlocal inside, turns
        async with locks.lock("anna"):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0.005)
            inside -= 1
            turns += 1

    await asyncio.gather(*(turn() for _ in range(10)))
    assert turns == 10


async def test_d9_whoever_asked_first_is_first(url: str) -> None:
    database = Database(url)
    tickets = Tickets(database)
    queue = [await tickets.take("anna", 60, 60) for _ in range(3)]
    for place, ticket in enumerate(queue):
        assert [await tickets.is_first(other) for other in queue[place:]][1:] == [False] * (
            2 - place
        )
        assert await tickets.is_first(ticket)
        await tickets.give_back(ticket)
    await database.aclose()


async def test_d9_other_conversations_do_not_wait(locks: Any) -> None:
    async with locks.lock("anna"), asyncio.timeout(5), locks.lock("bert"):
        pass


async def test_d9_a_ticket_whose_time_is_over_gets_a_lock_error(locks: Any) -> None:
    from rasa.core.lock_store import LockError

    async with locks.lock("anna"):
        with pytest.raises(LockError, match="Could not acquire lock"):
            async with locks.lock("anna", lock_lifetime=0.2):
                pass


async def test_d9_a_lock_that_is_held_too_long_does_not_lock_the_user_out(locks: Any) -> None:
    async with locks.lock("anna", lock_lifetime=0.2), asyncio.timeout(5), locks.lock("anna"):
        pass


async def test_d9_a_lock_of_a_killed_process_ends_long_before_its_lifetime(url: str) -> None:
    database = Database(url)
    tickets = Tickets(database)
    dead = await tickets.take("anna", 60, 0.3)
    alive = await tickets.take("bert", 60, 0.3)
    waiting = await tickets.take("anna", 60, 60)
    async with asyncio.timeout(5):
        while not await tickets.is_first(waiting):
            await tickets.keep(alive, 0.3)
            await asyncio.sleep(0.02)
    assert await tickets.is_first(dead) is None
    assert await tickets.is_first(alive)
    await database.aclose()


async def test_d9_a_cancelled_turn_lets_the_next_one_in(locks: Any) -> None:
    entered = asyncio.Event()

    async def turn() -> None:
        async with locks.lock("anna"):
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(turn())
    await entered.wait()
    task.cancel()
    await asyncio.wait([task])
    async with asyncio.timeout(2), locks.lock("anna"):
        pass


def contend(url: str, path: str, turns: int) -> None:
    """Take a conversation many times, adding one to a number in a file each time."""
    file = Path(path)

    def read() -> int:
        return int(file.read_text())

    def bump(number: int) -> None:
        file.write_text(str(number + 1))

    async def work() -> None:
        store = made(url)

        async def turn() -> None:
            async with store.lock("anna"):
                number = read()
                await asyncio.sleep(0.001)
                bump(number)

        await asyncio.gather(*(turn() for _ in range(turns)))
        await store.aclose()

    asyncio.run(work())


async def test_d9_two_processes_never_have_a_conversation_at_once(
    locks: Any, url: str, tmp_path: Path
) -> None:
    file = tmp_path / "number"
    file.write_text("0")
    async with locks.lock("anna"):
        pass  # the tables are there
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*HEAVY])
    workers = [context.Process(target=contend, args=(url, str(file), 40)) for _ in range(2)]
    for worker in workers:
        worker.start()
    deadline = time.monotonic() + 90
    for worker in workers:
        await asyncio.to_thread(worker.join, max(1.0, deadline - time.monotonic()))
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert int(file.read_text()) == 80


def test_an_address_of_another_database_is_refused_with_a_fix() -> None:
    with pytest.raises(ConfigurationError, match="lock_store: url"):
        made("sqlite:///x")
