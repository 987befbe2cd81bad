"""What is measured, how often, and what is to be reached. Measures nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "CHAINS",
    "GROWTHS",
    "PARALLEL",
    "SCENARIOS",
    "SERVERS",
    "Growth",
    "Measure",
    "Scenario",
    "Target",
]

PARALLEL = (1, 5, 10)
CHAINS = (10, 40)
SERVERS = 5
INITIALIZE_MS = 300
AGENTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What is to be reached.

    Attributes:
        most: The highest value that will do.
        of: Whether `most` is a share of the host's value or a value of ours.
    """

    most: float
    of: Literal["host", "ours"] = "host"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number of a scenario.

    Attributes:
        key: Its name in the numbers that a measurement gives.
        label: What it is, behind the scenario's label.
        unit: Unit it is given in; empty for a count.
        target: What is to be reached, if anything.
    """

    key: str
    label: str
    unit: str = "ms"
    target: Target | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One measurement, made for both engines in turn.

    Attributes:
        group: Letter by which it can be chosen.
        label: What happens in it.
        work: Name of the work the measuring process does.
        values: Sizes for that work.
        measures: The numbers to show.
        place: `resident` in a process that stays; `fresh` in a new one for each sample;
            `import` in a new one that imports nothing before.
    """

    group: str
    label: str
    work: str
    values: Mapping[str, int] = field(default_factory=dict)
    measures: Sequence[Measure]
    place: Literal["resident", "fresh", "import"] = "resident"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """How much a number grows from one scenario to a larger one."""

    group: str
    label: str
    key: str
    small: str
    large: str
    target: Target | None = None


def _wall(most: float | None = None) -> Measure:
    target = Target(most=most) if most is not None else None
    return Measure(key="wall_ms", label="time", target=target)


def _both(most: float | None = None) -> tuple[Measure, Measure]:
    target = Target(most=most) if most is not None else None
    return (_wall(most), Measure(key="cpu_ms", label="CPU", target=target))


def _parallel(tools: int, turns: int, most: float | None = None) -> Scenario:
    name = "1 tool of 200 ms" if tools == 1 else f"{tools} tools of 200 ms in one answer"
    return Scenario(
        group="a",
        label=name,
        work="parallel",
        values={"tools": tools, "turns": turns},
        measures=(_wall(most),),
    )


def _chain(work: str, steps: int, turns: int, label: str, most: float | None) -> Scenario:
    return Scenario(
        group="b",
        label=f"{label} of {steps} steps, per step",
        work=work,
        values={"steps": steps, "turns": turns},
        measures=_both(most),
    )


def _history(events: int) -> Scenario:
    return Scenario(
        group="f",
        label=f"turn without tools, {events:,} events",
        work="history",
        values={"events": events, "turns": 30},
        measures=_both(),
    )


SCENARIOS: tuple[Scenario, ...] = (
    _parallel(1, 2),
    _parallel(5, 2, 0.26),
    _parallel(10, 1, 0.16),
    _chain("chain", 10, 4, "chain", 0.6),
    _chain("chain", 40, 2, "chain", 0.6),
    _chain("reading", 10, 4, "read-only chain", None),
    _chain("reading", 40, 2, "read-only chain", None),
    _history(100),
    _history(5000),
    Scenario(
        group="c",
        label="100 turns at once, model of 50 ms",
        work="load",
        values={"turns": 100},
        measures=(
            _wall(0.7),
            Measure(key="cpu_ms", label="CPU"),
            Measure(key="memory_mb", label="memory growth", unit="MB", target=Target(most=1)),
        ),
        place="fresh",
    ),
    Scenario(
        group="d",
        label="start: 3 agents, 5 servers of 300 ms",
        work="start",
        values={"agents": AGENTS},
        measures=(
            _wall(0.25),
            Measure(
                key="sessions", label="sessions", unit="", target=Target(most=SERVERS, of="ours")
            ),
        ),
        place="fresh",
    ),
    Scenario(
        group="e",
        label="import of the engine alone",
        work="import",
        measures=(
            Measure(key="wall_ms", label="time", target=Target(most=500, of="ours")),
            Measure(key="memory_mb", label="memory", unit="MB"),
            Measure(
                key="host_packages",
                label="host packages",
                unit="",
                target=Target(most=0, of="ours"),
            ),
        ),
        place="import",
    ),
)


def _growth(group: str, label: str, sizes: slice, key: str, most: float | None) -> Growth:
    small, large = SCENARIOS[sizes]
    return Growth(
        group=group,
        label=label,
        key=key,
        small=small.label,
        large=large.label,
        target=None if most is None else Target(most=most, of="ours"),
    )


_STEPS = ("b", "a step: growth from 10 to 40", slice(3, 5))
_EVENTS = ("f", "a turn: growth from 100 to 5,000 events", slice(7, 9))

GROWTHS: tuple[Growth, ...] = (
    _growth(*_STEPS, "wall_ms", 1.2),
    _growth(*_STEPS, "cpu_ms", 1.2),
    _growth(*_EVENTS, "wall_ms", None),
    _growth(*_EVENTS, "cpu_ms", 1.2),
)
