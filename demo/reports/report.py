"""What a report says, from the closes of the exchange and what the customer holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from demo.market.exchange import Exchange

__all__ = ["PERIODS", "Report", "period_in", "portfolio_report", "risk_report"]

PERIODS = {"month": 21, "half-year": 119}
"""Trading days of the periods that a report can cover."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A finished report.

    Attributes:
        text: For the customer.
        figures: The same for a program.
    """

    text: str
    figures: dict[str, float]


def period_in(words: str) -> str | None:
    """The period that somebody names; None if it is none of ours, or more than one."""
    named = [period for period in PERIODS if period in words.lower().replace(" year", "-year")]
    return named[0] if len(named) == 1 else None


def portfolio_report(exchange: Exchange, period: str) -> Report:
    """What the customer's shares are worth, and how that has changed."""
    values = _values(exchange, PERIODS[period])
    change = 100 * (values[-1] / values[0] - 1)
    return Report(
        text=(
            f"Your {len(exchange.positions)} positions are worth {values[-1]:,.2f} EUR, "
            f"{abs(change):.1f} % {'more' if change >= 0 else 'less'} than a {period} ago."
        ),
        figures={"value_eur": round(values[-1], 2), "change_percent": round(change, 2)},
    )


def risk_report(exchange: Exchange, period: str) -> Report:
    """How far the customer's shares fell from a high, and which of them weighs most."""
    highest = fall = 0.0
    for value in _values(exchange, PERIODS[period]):
        highest = max(highest, value)
        fall = max(fall, 100 * (1 - value / highest))
    worth = {s: held * exchange.closes[s][-1] for s, held in exchange.positions.items()}
    heaviest = max(worth, key=lambda symbol: worth[symbol])
    share = 100 * worth[heaviest] / sum(worth.values())
    return Report(
        text=(
            f"Over the {period} your portfolio fell by at most {fall:.1f} % from a high. "
            f"{exchange.company(heaviest).name} is {share:.0f} % of it."
        ),
        figures={"largest_fall_percent": round(fall, 2), "largest_share_percent": round(share, 2)},
    )


def _values(exchange: Exchange, days: int) -> Sequence[float]:
    """What the positions were worth at each close, oldest first."""
    held = exchange.positions.items()
    closes = exchange.closes
    return [sum(n * closes[s][-1 - back] for s, n in held) for back in range(days, -1, -1)]
