"""Rows, ratios and targets."""

from __future__ import annotations

from typing import Literal

import pytest

from benchmarks.plan import GROWTHS, SCENARIOS, Growth, Measure, Scenario, Target
from benchmarks.report import Row, as_json, as_markdown, rows


def row(
    host: float,
    ours: float,
    most: float | None = None,
    *,
    of: Literal["host", "ours"] = "host",
    unit: str = "ms",
) -> Row:
    target = None if most is None else Target(most=most, of=of)
    return Row(
        group="a",
        label="a turn",
        number="time",
        unit=unit,
        host=host,
        ours=ours,
        target=target,
        samples={},
    )


def scenario(label: str) -> Scenario:
    measures = (Measure(key="wall_ms", label="time", target=Target(most=0.6)),)
    return Scenario(group="b", label=label, work="chain", measures=measures)


@pytest.mark.parametrize(("ours", "met"), [(60, True), (61, False)])
def test_a_target_may_be_a_share_of_the_hosts_value(ours: float, met: bool) -> None:
    assert row(100, ours, 0.6).met is met


@pytest.mark.parametrize(("ours", "met"), [(5, True), (6, False)])
def test_a_target_may_be_a_value_of_ours(ours: float, met: bool) -> None:
    assert row(1, ours, 5, of="ours", unit="").met is met


def test_without_a_target_nothing_is_met_or_missed() -> None:
    assert row(100, 1).met is None


@pytest.mark.parametrize("unit", ["", "x"])
def test_counts_and_growths_have_no_ratio(unit: str) -> None:
    assert row(100, 50).ratio == 0.5
    assert row(100, 50, unit=unit).ratio is None


def test_values_are_medians_of_all_samples() -> None:
    samples = {
        "ten": {
            "host": [{"wall_ms": 10.0}, {"wall_ms": 900.0}, {"wall_ms": 12.0}],
            "ours": [{"wall_ms": 3.0}, {"wall_ms": 4.0}, {"wall_ms": 500.0}],
        }
    }
    (found,) = rows([scenario("ten")], [], samples)
    assert (found.host, found.ours, found.met) == (12, 4, True)
    assert as_json(found)["samples"]["ours"] == [3, 4, 500]


def test_a_growth_compares_the_medians_of_two_scenarios() -> None:
    samples = {
        "ten": {"host": [{"wall_ms": 10.0}], "ours": [{"wall_ms": 4.0}]},
        "forty": {"host": [{"wall_ms": 15.0}], "ours": [{"wall_ms": 5.0}]},
    }
    growth = Growth(
        group="b",
        label="growth",
        key="wall_ms",
        small="ten",
        large="forty",
        target=Target(most=1.2, of="ours"),
    )
    *_, grown = rows([scenario("ten"), scenario("forty")], [growth], samples)
    assert (grown.host, grown.ours, grown.met) == (1.5, 1.25, False)


def test_what_was_not_measured_has_no_row() -> None:
    assert rows(SCENARIOS, GROWTHS, {}) == []


def test_the_document_shows_target_and_verdict() -> None:
    lines = as_markdown([row(100, 20, 0.26), row(2, 6, 5, of="ours", unit="")]).splitlines()
    assert lines[2] == "| a | a turn | time | 100 ms | 20.0 ms | 0.20 | ≤ 0.26 | met |"
    assert lines[3] == "| a | a turn | time | 2 | 6 |  | ≤ 5 | missed |"


def test_the_plan_asks_for_what_was_promised() -> None:
    targets = {
        (each.label, measure.key): measure.target.most
        for each in SCENARIOS
        for measure in each.measures
        if measure.target is not None
    }
    assert targets == {
        ("5 tools of 200 ms in one answer", "wall_ms"): 0.26,
        ("10 tools of 200 ms in one answer", "wall_ms"): 0.16,
        ("chain of 10 steps, per step", "wall_ms"): 0.6,
        ("chain of 10 steps, per step", "cpu_ms"): 0.6,
        ("chain of 40 steps, per step", "wall_ms"): 0.6,
        ("chain of 40 steps, per step", "cpu_ms"): 0.6,
        ("100 turns at once, model of 50 ms", "wall_ms"): 0.7,
        ("100 turns at once, model of 50 ms", "memory_mb"): 1,
        ("start: 3 agents, 5 servers of 300 ms", "wall_ms"): 0.25,
        ("start: 3 agents, 5 servers of 300 ms", "sessions"): 5,
        ("import of the engine alone", "wall_ms"): 500,
        ("import of the engine alone", "host_packages"): 0,
    }
    growths = [(each.small, each.large) for each in GROWTHS if each.key == "cpu_ms"]
    assert growths == [
        ("chain of 10 steps, per step", "chain of 40 steps, per step"),
        ("turn without tools, 100 events", "turn without tools, 5,000 events"),
    ]
