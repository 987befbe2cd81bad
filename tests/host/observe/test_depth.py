"""Gauges of what waits in the store, seen by an in-memory reader."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from rasa_react_ext.host.observe import depth
from rasa_react_ext.store import Database
from tests.cli.store import fill
from tests.project.tree import ROOT

Seen = Callable[[], dict[tuple[str, str], float]]


@pytest.fixture
def seen() -> Iterator[Seen]:
    """What a reader gets now: numbers by gauge and state."""
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    depth.observe_on(provider.get_meter("test"))

    def look() -> dict[tuple[str, str], float]:
        data = reader.get_metrics_data()
        scopes = [s for r in data.resource_metrics for s in r.scope_metrics] if data else []
        return {
            (
                metric.name.removeprefix("rasa_react_ext."),
                (point.attributes or {}).get(depth.STATE, ""),
            ): point.value
            for scope in scopes
            for metric in scope.metrics
            for point in metric.data.data_points
        }

    yield look
    provider.shutdown()


@contextlib.asynccontextmanager
async def reading(
    database: Database, *sides: Callable[[Database], Awaitable[depth.Numbers]]
) -> AsyncIterator[None]:
    gauges = [depth.Gauges(side, lambda: database, every_seconds=0.01) for side in sides]
    for gauge in gauges:
        gauge.start()
    try:
        yield
    finally:
        for gauge in gauges:
            await gauge.aclose()


async def until(seen: Seen, key: tuple[str, str], value: float | None) -> None:
    async with asyncio.timeout(10):
        while seen().get(key) != value:
            await asyncio.sleep(0.01)


async def test_depths_dead_letters_and_open_tasks_are_gauges(tmp_path: Path, seen: Seen) -> None:
    database = Database(str(tmp_path / "s.db"))
    await fill(database)
    async with reading(database, depth.read_external, depth.read_callers):
        await until(seen, ("inbox.dead_letters", ""), 1)
        await until(seen, ("outbox.dead_letters", ""), 1)
        assert seen() == {
            ("inbox.depth", ""): 0,
            ("inbox.dead_letters", ""): 1,
            ("remote_tasks.open", "background"): 1,
            ("remote_tasks.open", "waiting"): 1,
            ("remote_tasks.open", "parked"): 0,
            ("served_tasks.open", "submitted"): 0,
            ("served_tasks.open", "working"): 0,
            ("served_tasks.open", "input-required"): 1,
            ("served_tasks.open", "auth-required"): 0,
            ("outbox.depth", ""): 0,
            ("outbox.dead_letters", ""): 1,
        }
    await database.aclose()


async def test_a_process_that_serves_no_channel_reports_nothing(tmp_path: Path, seen: Seen) -> None:
    database = Database(str(tmp_path / "s.db"))
    assert seen() == {}
    async with reading(database, depth.read_external):
        await until(seen, ("inbox.depth", ""), 0)
        assert ("outbox.depth", "") not in seen()
    assert seen() == {}
    await database.aclose()


async def test_a_store_that_cannot_be_read_is_not_reported_by_old_numbers(
    tmp_path: Path, seen: Seen
) -> None:
    good = Database(str(tmp_path / "s.db"))
    (tmp_path / "bad.db").write_text("no database at all, however long one looks at it")
    bad = Database(str(tmp_path / "bad.db"))
    stores = [good]
    gauges = depth.Gauges(depth.read_external, lambda: stores[0], every_seconds=0.01)
    gauges.start()
    await until(seen, ("inbox.depth", ""), 0)
    stores[0] = bad
    await until(seen, ("inbox.depth", ""), None)
    stores[0] = good
    await until(seen, ("inbox.depth", ""), 0)
    await gauges.aclose()
    for database in (good, bad):
        await database.aclose()


@pytest.mark.parametrize("name", depth.GAUGES)
def test_every_gauge_is_documented(name: str) -> None:
    page = (ROOT / "docs" / "watch.md").read_text(encoding="utf-8")
    assert f"`rasa_react_ext.{name}`" in page
