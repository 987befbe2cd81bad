"""From samples to rows: medians, ratios, and whether the targets are met."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from benchmarks.plan import Growth, Measure, Scenario, Target

__all__ = ["Row", "Samples", "as_json", "as_markdown", "as_table", "rows"]

Samples = Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]
"""Label of a scenario, then engine, then one set of numbers per sample."""

_NAMES = {"wall_ms": "time", "cpu_ms": "CPU"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes:
        group: Letter of the scenario.
        label: What was done.
        number: What of it was measured.
        unit: Unit of the values; empty for counts, `x` for growth.
        host: Median of the host's engine.
        ours: Median of this engine.
        target: What was to be reached.
        samples: All values by engine; none for a growth.
    """

    group: str
    label: str
    number: str
    unit: str
    host: float
    ours: float
    target: Target | None
    samples: Mapping[str, Sequence[float]]

    @property
    def ratio(self) -> float | None:
        """Ours as a share of the host's; None where that says nothing."""
        return self.ours / self.host if self.unit not in ("", "x") and self.host > 0 else None

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        most = self.target.most * (self.host if self.target.of == "host" else 1)
        return self.ours <= most


def rows(scenarios: Iterable[Scenario], growths: Iterable[Growth], samples: Samples) -> list[Row]:
    """All rows for which there are samples, growths behind their group."""
    measured = [
        _measured(scenario, measure, samples[scenario.label])
        for scenario in scenarios
        if scenario.label in samples
        for measure in scenario.measures
    ]
    grown = [
        _grown(growth, samples)
        for growth in growths
        if growth.small in samples and growth.large in samples
    ]
    return sorted([*measured, *grown], key=lambda row: row.group)


def _measured(
    scenario: Scenario,
    measure: Measure,
    samples: Mapping[str, Sequence[Mapping[str, float]]],
) -> Row:
    values = {
        engine: [numbers[measure.key] for numbers in taken] for engine, taken in samples.items()
    }
    return Row(
        group=scenario.group,
        label=scenario.label,
        number=measure.label,
        unit=measure.unit,
        host=statistics.median(values["host"]),
        ours=statistics.median(values["ours"]),
        target=measure.target,
        samples=values,
    )


def _grown(growth: Growth, samples: Samples) -> Row:
    def factor(engine: str) -> float:
        small, large = (
            statistics.median(numbers[growth.key] for numbers in samples[label][engine])
            for label in (growth.small, growth.large)
        )
        return large / small

    return Row(
        group=growth.group,
        label=growth.label,
        number=_NAMES[growth.key],
        unit="x",
        host=factor("host"),
        ours=factor("ours"),
        target=growth.target,
        samples={},
    )


def as_json(row: Row) -> dict[str, Any]:
    """The row with what follows from it."""
    return {**asdict(row), "ratio": row.ratio, "met": row.met}


_COLUMNS = ("", "scenario", "measured", "host", "ours", "ours / host", "target", "")
_TEXTS = 3


def as_table(found: Iterable[Row]) -> Table:
    """A table for the terminal."""
    table = Table(*_COLUMNS[:_TEXTS], title="This engine beside the host's (medians)")
    for column in _COLUMNS[_TEXTS:]:
        table.add_column(column, justify="right")
    colours = {"met": "green", "missed": "bold red"}
    for row in found:
        *cells, verdict = _cells(row)
        colour = colours.get(verdict)
        table.add_row(*cells, f"[{colour}]{verdict}[/]" if colour else "")
    return table


def as_markdown(found: Iterable[Row]) -> str:
    """The same table for a document."""
    numbers = len(_COLUMNS) - _TEXTS
    rule = (*["---"] * _TEXTS, *["---:"] * numbers)
    lines = [_COLUMNS, rule, *(_cells(row) for row in found)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    verdict = {None: "", True: "met", False: "missed"}[row.met]
    return (
        row.group,
        row.label,
        row.number,
        _value(row.host, row.unit),
        _value(row.ours, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        _wanted(row),
        verdict,
    )


def _wanted(row: Row) -> str:
    if row.target is None:
        return ""
    if row.target.of == "host":
        return f"≤ {row.target.most:.2f}"
    return f"≤ {_value(row.target.most, row.unit)}"


def _value(value: float, unit: str) -> str:
    if unit == "x":
        return f"{value:.2f} x"
    digits = 0 if not unit or abs(value) >= 100 else 1
    return f"{value:,.{digits}f} {unit}".rstrip()
