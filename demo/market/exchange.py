"""The exchange behind the tools: companies, daily closes, news, orders, advisers.

Owns the data and the moving price. A price moves at every look, in the same way in every run, so
that a demonstration can be repeated. Knows nothing of MCP.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["DATA", "Company", "Exchange", "Quote", "UnknownSymbolError"]

DATA = Path(__file__).parents[2] / "data" / "market"
OPENING = time(9, 0)
STEP = timedelta(minutes=5)
STEPS_PER_DAY = 96


class UnknownSymbolError(LookupError):
    """The exchange does not list this symbol; the text names those it lists."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Company:
    """One listed company, as `data/market/companies.json` describes it."""

    symbol: str
    name: str
    sector: str
    about: str
    news: Sequence[dict[str, str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Quote:
    """A price at a moment of the trading day after the last close.

    Attributes:
        symbol: The company's symbol.
        price: Price in euros.
        change_percent: Change against the last close.
        as_of: Moment of the quote, local time of the exchange.
    """

    symbol: str
    price: float
    change_percent: float
    as_of: datetime


@dataclass(slots=True)
class Exchange:
    """The companies, their prices and the positions of the one customer it has.

    Attributes:
        companies: Listed companies by symbol.
        closes: Daily closing prices by symbol, oldest first.
        last_day: Day of the last close.
        advisers: Who can be booked, with topics and free days.
        positions: Shares held by symbol.
    """

    companies: dict[str, Company]
    closes: dict[str, list[float]]
    last_day: datetime
    advisers: list[dict[str, Any]]
    positions: dict[str, int] = field(default_factory=lambda: {"MRDF": 40, "CSTB": 15})
    _looks: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_folder(cls, folder: Path = DATA) -> Exchange:
        """Read an exchange from its data folder.

        Args:
            folder: Where `companies.json`, `prices.csv` and `advisers.json` are.

        Raises:
            OSError: If a file cannot be read.
        """
        listed = json.loads((folder / "companies.json").read_text(encoding="utf-8"))
        with (folder / "prices.csv").open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        companies = {entry["symbol"]: Company(**entry) for entry in listed}
        return cls(
            companies=companies,
            closes={symbol: [float(row[symbol]) for row in rows] for symbol in companies},
            last_day=datetime.fromisoformat(rows[-1]["date"]),
            advisers=json.loads((folder / "advisers.json").read_text(encoding="utf-8")),
        )

    def company(self, symbol: str) -> Company:
        """Return the company of a symbol, whatever its letter case.

        Raises:
            UnknownSymbolError: If no company has this symbol.
        """
        found = self.companies.get(symbol.strip().upper())
        if found is None:
            listed = ", ".join(sorted(self.companies))
            raise UnknownSymbolError(f"No symbol {symbol!r} here. Listed are: {listed}.")
        return found

    def search(self, query: str) -> list[Company]:
        """Return the companies whose symbol, name or sector contains every word of the query."""
        words = query.lower().split()

        def described(company: Company) -> str:
            return f"{company.symbol} {company.name} {company.sector}".lower()

        return [
            company
            for company in self.companies.values()
            if words and all(word in described(company) for word in words)
        ]

    def quote(self, symbol: str) -> Quote:
        """Return the price now; each look moves the clock of this symbol on by five minutes.

        Raises:
            UnknownSymbolError: If no company has this symbol.
        """
        company = self.company(symbol)
        look = self._looks.get(company.symbol, 0)
        self._looks[company.symbol] = look + 1
        closes = self.closes[company.symbol]
        price = round(closes[-1] * (1 + self._drift(company.symbol, look)), 2)
        return Quote(
            symbol=company.symbol,
            price=price,
            change_percent=round(100 * (price / closes[-1] - 1), 2),
            as_of=self._moment(look),
        )

    def buy(self, symbol: str, quantity: int) -> Quote:
        """Add shares to the positions at the price of the moment.

        Raises:
            UnknownSymbolError: If no company has this symbol.
        """
        quote = self.quote(symbol)
        self.positions[quote.symbol] = self.positions.get(quote.symbol, 0) + quantity
        return quote

    def advisers_for(self, topic: str) -> list[dict[str, Any]]:
        """Return the advisers who know a topic, with their free days."""
        return [adviser for adviser in self.advisers if topic in adviser["topics"]]

    def _drift(self, symbol: str, look: int) -> float:
        """Move by about a day's usual step, in a wave that starts elsewhere for each symbol."""
        closes = self.closes[symbol]
        usual = sum(abs(after / before - 1) for before, after in pairwise(closes)) / len(closes)
        phase = sum(map(ord, symbol))
        return usual * (math.sin(phase + look / 3) + 0.3 * math.sin(phase + look * 1.7))

    def _moment(self, look: int) -> datetime:
        day = self.last_day + timedelta(days=1)
        while day.weekday() > 4:
            day += timedelta(days=1)
        return datetime.combine(day, OPENING) + (look % STEPS_PER_DAY) * STEP
