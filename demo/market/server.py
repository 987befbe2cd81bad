"""The exchange as an MCP server over streamable HTTP.

Owns the tools (names, schemas, annotations) and the life of the server; the answers come from
`exchange` and `indicator`.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated, Literal

from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from demo.market.exchange import Exchange, UnknownSymbolError
from demo.market.indicator import relative_strength, simple_average
from rasa_react_ext.testing.hosted import serve_application

__all__ = ["build_server", "running_market"]

READ_ONLY = ToolAnnotations(readOnlyHint=True, openWorldHint=False)
BUYS = ToolAnnotations(readOnlyHint=False, destructiveHint=True, idempotentHint=False)
CURRENCY = "EUR"

Symbol = Annotated[str, Field(description="Ticker symbol, for example NWND.")]
Topic = Literal["retirement", "portfolio_review", "tax"]


class Listing(BaseModel):
    """A company as the exchange lists it."""

    symbol: str
    name: str
    sector: str
    about: str


class NewsItem(BaseModel):
    """One headline about a company."""

    date: str
    source: str
    headline: str


class LivePrice(BaseModel):
    """A price now."""

    symbol: str
    price: float
    currency: str
    change_percent: float
    as_of: str


class Analysis(BaseModel):
    """Indicators computed from the daily closes."""

    symbol: str
    last_close: float
    rsi_14: float
    sma_20: float
    sma_50: float
    trend: Literal["up", "down", "sideways"]


class Order(BaseModel):
    """A buy order that was carried out."""

    symbol: str
    quantity: int
    price: float
    total: float


class Adviser(BaseModel):
    """A person who can be booked."""

    name: str
    free_days: list[str]


def build_server(exchange: Exchange) -> FastMCP:
    """Return an MCP server whose tools answer from an exchange.

    Args:
        exchange: The data; its price clock and positions change with the calls.
    """
    server = FastMCP("wealth-market", log_level="ERROR")
    # A client that hangs up is no fault, yet the SDK logs it with a traceback.
    logging.getLogger("mcp.server.streamable_http").setLevel(logging.CRITICAL)
    _add_research_tools(server, exchange)
    _add_account_tools(server, exchange)
    return server


def _add_research_tools(server: FastMCP, exchange: Exchange) -> None:
    @server.tool(annotations=READ_ONLY)
    def find_symbol(
        query: Annotated[str, Field(description="Words from the name, sector or symbol.")],
    ) -> list[Listing]:
        """Find listed companies by name, sector or symbol."""
        return [
            Listing(symbol=found.symbol, name=found.name, sector=found.sector, about=found.about)
            for found in exchange.search(query)
        ]

    @server.tool(annotations=READ_ONLY)
    def get_company_news(
        symbol: Symbol,
        limit: Annotated[int, Field(ge=1, le=10, description="Headlines wanted.")] = 3,
    ) -> list[NewsItem]:
        """Return the latest headlines about a company, newest first."""
        with _known(symbol):
            return [NewsItem(**item) for item in exchange.company(symbol).news[:limit]]

    @server.tool(annotations=READ_ONLY)
    def apply_technical_analysis(symbol: Symbol) -> Analysis:
        """Compute RSI, moving averages and the trend of a company's share."""
        with _known(symbol):
            name = exchange.company(symbol).symbol
        closes = exchange.closes[name]
        short, long = simple_average(closes, 20), simple_average(closes, 50)
        return Analysis(
            symbol=name,
            last_close=closes[-1],
            rsi_14=round(relative_strength(closes), 1),
            sma_20=round(short, 2),
            sma_50=round(long, 2),
            trend="up" if short > long * 1.01 else "down" if short < long * 0.99 else "sideways",
        )

    @server.tool(annotations=READ_ONLY)
    def fetch_live_price(symbol: Symbol) -> LivePrice:
        """Return the price of a share at this moment."""
        with _known(symbol):
            quote = exchange.quote(symbol)
        return LivePrice(
            symbol=quote.symbol,
            price=quote.price,
            currency=CURRENCY,
            change_percent=quote.change_percent,
            as_of=quote.as_of.isoformat(timespec="minutes"),
        )


def _add_account_tools(server: FastMCP, exchange: Exchange) -> None:
    @server.tool(annotations=BUYS)
    def place_buy_order(
        symbol: Symbol, quantity: Annotated[int, Field(gt=0, description="Number of shares.")]
    ) -> Order:
        """Buy shares at the price of the moment. This cannot be undone."""
        with _known(symbol):
            quote = exchange.buy(symbol, quantity)
        return Order(
            symbol=quote.symbol,
            quantity=quantity,
            price=quote.price,
            total=round(quantity * quote.price, 2),
        )

    @server.tool(annotations=READ_ONLY)
    def view_positions() -> dict[str, int]:
        """Return the shares the customer holds, by symbol."""
        return dict(exchange.positions)

    @server.tool(annotations=READ_ONLY)
    def find_advisers(topic: Topic) -> list[Adviser]:
        """Return the advisers for a topic and the days on which they are free."""
        return [
            Adviser(name=found["name"], free_days=found["free_days"])
            for found in exchange.advisers_for(topic)
        ]


@contextmanager
def _known(symbol: str) -> Generator[None, None, None]:
    """Turn an unknown symbol into an error answer that the model can act on."""
    try:
        yield
    except UnknownSymbolError as unknown:
        raise ToolError(f"{unknown} Use find_symbol to look {symbol!r} up.") from unknown


@contextmanager
def running_market(exchange: Exchange | None = None, port: int = 0) -> Generator[str, None, None]:
    """Run the server in a thread of this process while the block runs.

    Args:
        exchange: The data; by default the sample's.
        port: Loopback port; 0 takes a free one.

    Yields:
        The URL a client connects to.

    Raises:
        OSError: If the port is taken or the data cannot be read.
    """
    with serve_application(build_server(exchange or Exchange.from_folder()), port) as url:
        yield url
