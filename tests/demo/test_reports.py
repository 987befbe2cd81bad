"""The external agent of the sample, asked by the protocol's own client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import new_text_part
from a2a.types import CancelTaskRequest, Message, Role, SendMessageRequest, TaskState

from demo.market import Exchange
from demo.reports import CARD_PATH, Gate, House, running_house
from demo.reports.report import PERIODS, period_in, portfolio_report, risk_report

FOUND = "The reporting house has found your 2 positions."
QUESTION = "Which period shall the report cover: the month or the half-year?"
WORKS = "Going through the closes of the month."


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def house(gate: Gate) -> House:
    return House(pause=gate.wait)


@pytest.fixture
async def client(house: House) -> AsyncIterator[Client]:
    with running_house(house) as card_url:
        async with httpx.AsyncClient(trust_env=False, timeout=30) as http:
            card = await A2ACardResolver(http, card_url.removesuffix(CARD_PATH)).get_agent_card()
            assert card.capabilities.push_notifications
            yield ClientFactory(ClientConfig(httpx_client=http, streaming=True)).create(card)


async def test_it_tells_what_it_does_asks_back_and_reports_when_it_is_let(
    client: Client, gate: Gate
) -> None:
    asked = [update async for update in _updates(client, "A risk report, please")]
    assert [text for _, text, _ in asked] == [FOUND, QUESTION]
    task, _, state = asked[-1]
    assert state == TaskState.TASK_STATE_INPUT_REQUIRED
    reported = []
    async for update in _updates(client, "The month", task=task):
        reported.append(update)
        if update[1] == WORKS:
            gate.open()
    assert [text for _, text, _ in reported][-2:] == [
        WORKS,
        risk_report(Exchange.from_folder(), "month").text,
    ]
    assert reported[-1][2] == TaskState.TASK_STATE_COMPLETED


async def test_a_report_that_is_cancelled_is_put_away_while_it_is_written(
    client: Client, house: House
) -> None:
    states = []
    async for task, text, state in _updates(client, "A portfolio report about the month"):
        states.append(state)
        if text == WORKS:
            await client.cancel_task(CancelTaskRequest(id=task))
    assert states[-1] == TaskState.TASK_STATE_CANCELED
    assert house.cancelled == 1


async def test_a_gate_that_was_opened_before_lets_one_report_through(gate: Gate) -> None:
    gate.open()
    await asyncio.wait_for(gate.wait(), 5)
    waiting = asyncio.create_task(gate.wait())
    given_up = asyncio.create_task(gate.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    gate.open()
    await asyncio.wait_for(given_up, 5)


@pytest.mark.parametrize(
    ("words", "period"),
    [
        ("the last month", "month"),
        ("Half-Year", "half-year"),
        ("the half year, please", "half-year"),
        ("the year", None),
        (QUESTION, None),
    ],
)
def test_a_period_is_understood_where_exactly_one_is_named(words: str, period: str | None) -> None:
    assert period_in(words) == period


@pytest.mark.parametrize("period", PERIODS)
def test_reports_are_computed_from_the_closes(period: str) -> None:
    exchange = Exchange.from_folder()
    then, now = (
        sum(held * exchange.closes[symbol][day] for symbol, held in exchange.positions.items())
        for day in (-1 - PERIODS[period], -1)
    )
    report = portfolio_report(exchange, period)
    assert report.figures == {
        "value_eur": round(now, 2),
        "change_percent": round(100 * (now / then - 1), 2),
    }
    assert f"{now:,.2f} EUR" in report.text
    risk = risk_report(exchange, period).figures
    assert 0 <= risk["largest_fall_percent"] < 100
    assert 50 <= risk["largest_share_percent"] < 100


async def _updates(
    client: Client, text: str, *, task: str = ""
) -> AsyncIterator[tuple[str, str, int]]:
    """Id, words and state of the task whenever the agent says something."""
    message = Message(
        role=Role.ROLE_USER, message_id=uuid4().hex, parts=[new_text_part(text)], task_id=task
    )
    async with asyncio.timeout(20):
        async for response in client.send_message(SendMessageRequest(message=message)):
            if response.HasField("status_update"):
                update = response.status_update
                words = "".join(part.text for part in update.status.message.parts)
                yield update.task_id, words, update.status.state
