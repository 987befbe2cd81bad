"""Several workers in one process group: what they must share is looked at when they start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rasa.core.agent import Agent
from rasa.core.config.available_endpoints import AvailableEndpoints
from rasa.core.lock_store import InMemoryLockStore, LockStore, RedisLockStore, RedisLockStoreConfig
from rasa.core.tracker_stores.sql_tracker_store import SQLTrackerStore
from rasa.core.tracker_stores.tracker_store import InMemoryTrackerStore, TrackerStore
from rasa.core.utils import number_of_sanic_workers
from rasa.shared.core.domain import Domain
from rasa.utils.endpoints import EndpointConfig

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.host.a2a.requirement import check_processes
from rasa_react_ext.host.lock_check import warn_of_lock_store
from rasa_react_ext.locks import PostgresLockStore
from rasa_react_ext.store import Database
from tests.host.a2a.bank import served
from tests.host.a2a.talk import Caller
from tests.host.project import Project
from tests.host.refused import logs

pytestmark = pytest.mark.host

POSTGRES = "postgresql://anna:x@127.0.0.1:5432/name"
SHARED = EndpointConfig(url=POSTGRES, type="rasa_react_ext.locks.PostgresLockStore")


@pytest.fixture
def shared_dialogues(tmp_path: Path) -> Iterator[TrackerStore]:
    """Dialogues in a database."""
    store = SQLTrackerStore(Domain.empty(), dialect="sqlite", db=str(tmp_path / "tracker.db"))
    yield store
    store.engine.dispose()


@pytest.fixture(autouse=True)
def _two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANIC_WORKERS", "2")


def checked(tracker_store: TrackerStore, lock_store: LockStore, store: str = POSTGRES) -> list[str]:
    """The events that are logged when an assistant with these stores starts."""
    agent = Agent(tracker_store=tracker_store, lock_store=lock_store)
    with logs() as captured:
        check_processes(agent, Database(store))
    return [log["event"] for log in captured if "a2a_server" in log["event"]]


async def test_d9_workers_that_would_not_share_dialogues_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="2 workers would each") as refused:
        checked(InMemoryTrackerStore(Domain.empty()), PostgresLockStore(SHARED))
    assert (refused.value.file, refused.value.key) == ("endpoints.yml", "tracker_store")
    assert "SANIC_WORKERS=1" in refused.value.fix


async def test_d9_workers_that_share_all_three_start_without_a_word(
    shared_dialogues: TrackerStore,
) -> None:
    assert checked(shared_dialogues, PostgresLockStore(SHARED)) == []


async def test_d9_a_lock_store_that_is_not_exclusive_is_named(
    shared_dialogues: TrackerStore, redis: tuple[str, int]
) -> None:
    locks = RedisLockStore(RedisLockStoreConfig(host=redis[0], port=redis[1]))
    said = checked(shared_dialogues, locks)
    locks.red.close()
    assert said == ["rasa_react_ext.a2a_server.lock_store_not_exclusive"]


async def test_d9_a_store_that_is_a_file_is_named(
    shared_dialogues: TrackerStore, tmp_path: Path
) -> None:
    said = checked(shared_dialogues, PostgresLockStore(SHARED), str(tmp_path / "store.db"))
    assert said == ["rasa_react_ext.a2a_server.store_is_a_file"]


@pytest.mark.parametrize("number", ["1", "0", "many"])
async def test_d9_one_worker_needs_nothing(monkeypatch: pytest.MonkeyPatch, number: str) -> None:
    monkeypatch.setenv("SANIC_WORKERS", number)
    assert checked(InMemoryTrackerStore(Domain.empty()), PostgresLockStore(SHARED)) == []


async def test_d9_without_a_shared_lock_store_the_host_starts_one_worker_and_so_do_we(
    bank_project: Project,
) -> None:
    assert number_of_sanic_workers(None) == 1
    assert number_of_sanic_workers(InMemoryLockStore()) == 1
    assert number_of_sanic_workers(SHARED) == 2
    async with served(bank_project) as (url, _):
        assert await Caller(url).say("start show_balance") == "completed"


def test_d9_the_policy_names_a_lock_store_that_is_not_exclusive() -> None:
    with logs() as captured:
        for kind in ("redis", "concurrent_redis", SHARED.type):
            warn_of_lock_store(AvailableEndpoints(lock_store=EndpointConfig(type=kind)))
    (log,) = captured
    assert log["event"] == "rasa_react_ext.lock_store.not_exclusive"
    assert "concurrent_redis or rasa_react_ext.locks.PostgresLockStore" in log["event_info"]
