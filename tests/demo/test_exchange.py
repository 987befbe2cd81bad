from __future__ import annotations

import pytest

from demo.market.exchange import Exchange, UnknownSymbolError


@pytest.fixture
def exchange() -> Exchange:
    return Exchange.from_folder()


def test_every_company_has_a_price_for_every_day(exchange: Exchange) -> None:
    days = {symbol: len(closes) for symbol, closes in exchange.closes.items()}
    assert set(days) == set(exchange.companies)
    assert set(days.values()) == {120}
    assert min(min(closes) for closes in exchange.closes.values()) > 0


@pytest.mark.parametrize("query", ["nordwind", "NWND", "renewable energy", "Energy Nordwind"])
def test_a_company_is_found_by_words_of_its_name_sector_or_symbol(
    exchange: Exchange, query: str
) -> None:
    assert [found.symbol for found in exchange.search(query)] == ["NWND"]


@pytest.mark.parametrize("query", ["", "nordwind bank"])
def test_a_query_that_does_not_fit_finds_nothing(exchange: Exchange, query: str) -> None:
    assert exchange.search(query) == []


def test_prices_move_at_every_look_and_alike_in_every_run(exchange: Exchange) -> None:
    seen = [exchange.quote("NWND") for _ in range(20)]
    again = Exchange.from_folder()
    assert seen == [again.quote("nwnd") for _ in range(20)]
    assert len({quote.price for quote in seen}) > 10
    assert max(abs(quote.change_percent) for quote in seen) < 5
    assert [quote.as_of for quote in seen] == sorted(quote.as_of for quote in seen)


def test_a_look_at_one_share_does_not_move_another(exchange: Exchange) -> None:
    first = Exchange.from_folder().quote("AURB")
    exchange.quote("NWND")
    assert exchange.quote("AURB") == first


def test_quotes_are_of_a_working_day_after_the_last_close(exchange: Exchange) -> None:
    moment = exchange.quote("NWND").as_of
    assert moment > exchange.last_day
    assert moment.weekday() < 5


def test_an_unknown_symbol_is_answered_with_the_known_ones(exchange: Exchange) -> None:
    with pytest.raises(UnknownSymbolError, match=r"'XXXX'.*AURB.*NWND"):
        exchange.quote("XXXX")


def test_a_bought_share_is_added_to_the_positions(exchange: Exchange) -> None:
    before = exchange.positions["MRDF"]
    exchange.buy("mrdf", 3)
    assert exchange.positions["MRDF"] == before + 3


def test_advisers_are_found_by_topic(exchange: Exchange) -> None:
    names = [adviser["name"] for adviser in exchange.advisers_for("tax")]
    assert names == ["Ines Calder"]
