"""Technical indicators over a series of closing prices. Pure arithmetic, oldest price first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["relative_strength", "simple_average"]


def simple_average(closes: Sequence[float], window: int) -> float:
    """Return the simple moving average of the last prices.

    Args:
        closes: Closing prices, oldest first.
        window: Number of trading days to look back.

    Raises:
        ValueError: If the series is shorter than the window.
    """
    if not 1 <= window <= len(closes):
        raise ValueError(f"an average over {window} days needs 1 to {len(closes)} days")
    return sum(closes[-window:]) / window


def relative_strength(closes: Sequence[float], window: int = 14) -> float:
    """Return the relative strength index (Wilder) of a series, from 0 to 100.

    Args:
        closes: Closing prices, oldest first; at least ``window + 1`` of them.
        window: Number of price changes in the smoothing window.

    Raises:
        ValueError: If the series is too short for the window.
    """
    changes = [after - before for before, after in pairwise(closes)]
    if not 1 <= window <= len(changes):
        raise ValueError(f"an index over {window} days needs 1 to {len(changes)} price changes")
    gain = sum(max(change, 0.0) for change in changes[:window]) / window
    loss = sum(max(-change, 0.0) for change in changes[:window]) / window
    for change in changes[window:]:
        gain = (gain * (window - 1) + max(change, 0.0)) / window
        loss = (loss * (window - 1) + max(-change, 0.0)) / window
    if loss == 0:
        return 100.0 if gain > 0 else 50.0
    return 100.0 - 100.0 / (1.0 + gain / loss)
