from __future__ import annotations

import pytest

from demo.market.indicator import relative_strength, simple_average


def test_an_average_looks_at_the_last_days_only() -> None:
    assert simple_average([100.0, 1.0, 2.0, 3.0], 3) == 2.0


@pytest.mark.parametrize("window", [0, 4])
def test_an_average_over_days_that_are_not_there_is_refused(window: int) -> None:
    with pytest.raises(ValueError, match="needs 1 to 3 days"):
        simple_average([1.0, 2.0, 3.0], window)


@pytest.mark.parametrize(
    ("closes", "strength"),
    [
        pytest.param([1.0, 2.0, 3.0], 100.0, id="only rises"),
        pytest.param([3.0, 2.0, 1.0], 0.0, id="only falls"),
        pytest.param([2.0, 2.0, 2.0], 50.0, id="stands still"),
        pytest.param([10.0, 12.0, 11.0], 100 - 100 / 3, id="rises twice as much as it falls"),
    ],
)
def test_the_strength_index_weighs_rises_against_falls(
    closes: list[float], strength: float
) -> None:
    assert relative_strength(closes, 2) == pytest.approx(strength)


def test_the_strength_index_smooths_older_changes_as_wilder_does() -> None:
    # Changes +2, -1, then +3: gain (1.0 + 3) / 2 = 2, loss (0.5 + 0) / 2 = 0.25.
    assert relative_strength([10.0, 12.0, 11.0, 14.0], 2) == pytest.approx(100 - 100 / 9)


def test_the_strength_index_needs_a_change_more_than_its_window() -> None:
    with pytest.raises(ValueError, match="needs 1 to 2 price changes"):
        relative_strength([1.0, 2.0, 3.0], 3)
