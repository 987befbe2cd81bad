from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from demo.market import Exchange, running_market

RESEARCH = {"find_symbol", "get_company_news", "apply_technical_analysis", "fetch_live_price"}
OTHERS = {"place_buy_order", "view_positions", "find_advisers"}


@pytest.fixture
def market() -> Iterator[str]:
    with running_market() as url:
        yield url


async def _ask(url: str, tool: str, **arguments: Any) -> CallToolResult:
    async with (
        streamable_http_client(url) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        return await session.call_tool(tool, arguments)


async def test_the_server_offers_the_tools_of_a_wealth_desk(market: str) -> None:
    async with (
        streamable_http_client(market) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == RESEARCH | OTHERS
    assert all(tool.description for tool in tools.values())
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert {name for name, hint in hints.items() if hint and not hint.readOnlyHint} == {
        "place_buy_order"
    }
    assert hints["place_buy_order"] is not None
    assert hints["place_buy_order"].destructiveHint is True


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("find_symbol", {"query": "aurora"}, {"symbol": "AURB", "name": "Aurora Robotics"}),
        ("get_company_news", {"symbol": "MRDF", "limit": 1}, {"date": "2026-02-09"}),
        ("find_advisers", {"topic": "portfolio_review"}, {"name": "Tom Ravn"}),
    ],
)
async def test_a_list_tool_answers_with_its_best_entry_first(
    market: str, tool: str, arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    answer = await _ask(market, tool, **arguments)
    assert answer.structuredContent is not None
    first = answer.structuredContent["result"][0]
    assert expected.items() <= first.items()


async def test_the_analysis_is_computed_from_the_closes(market: str) -> None:
    answer = await _ask(market, "apply_technical_analysis", symbol="nwnd")
    closes = Exchange.from_folder().closes["NWND"]
    assert answer.structuredContent is not None
    assert answer.structuredContent["last_close"] == closes[-1]
    assert answer.structuredContent["sma_20"] == round(sum(closes[-20:]) / 20, 2)
    assert answer.structuredContent["trend"] == "up"


async def test_a_live_price_is_near_the_last_close(market: str) -> None:
    answer = await _ask(market, "fetch_live_price", symbol="HLSC")
    close = Exchange.from_folder().closes["HLSC"][-1]
    assert answer.structuredContent is not None
    assert answer.structuredContent["price"] == pytest.approx(close, rel=0.05)
    assert answer.structuredContent["currency"] == "EUR"


async def test_an_order_shows_in_the_positions(market: str) -> None:
    order = await _ask(market, "place_buy_order", symbol="BHLG", quantity=7)
    positions = await _ask(market, "view_positions")
    assert order.structuredContent is not None
    assert order.structuredContent["quantity"] == 7
    assert positions.structuredContent is not None
    assert positions.structuredContent["BHLG"] == 7


@pytest.mark.parametrize(
    "tool", ["get_company_news", "apply_technical_analysis", "fetch_live_price"]
)
async def test_an_unknown_symbol_is_an_error_that_names_the_next_step(
    market: str, tool: str
) -> None:
    answer = await _ask(market, tool, symbol="XXXX")
    assert answer.isError
    assert "Listed are: AURB" in answer.content[0].text
    assert "Use find_symbol" in answer.content[0].text


async def test_an_order_of_no_shares_is_refused(market: str) -> None:
    answer = await _ask(market, "place_buy_order", symbol="BHLG", quantity=0)
    assert answer.isError


def test_a_stopped_server_frees_its_port() -> None:
    with running_market() as url:
        port = int(url.split(":")[2].split("/")[0])
    with socket.create_server(("127.0.0.1", port)):
        pass
