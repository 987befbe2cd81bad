"""Time limits, cancellation and bounds of our own client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.pool import CONNECTIONS
from tests.host.chat.conftest import Sink
from tests.host.chat.provider import (
    Provider,
    asking,
    chunk,
    stalled,
    stalled_midway,
    streamed,
    whole,
)

pytestmark = pytest.mark.host

Group = Callable[..., Any]


@pytest.mark.parametrize("sinking", [False, True])
@pytest.mark.parametrize("reply", [stalled, stalled_midway])
async def test_the_groups_timeout_ends_a_call(
    provider: Provider, group: Group, reply: Any, sinking: bool
) -> None:
    provider.reply = reply
    with pytest.raises(ModelError, match=r"within 0\.2 s") as caught:
        await group(timeout=0.2).ask(asking(), Sink() if sinking else None)
    assert caught.value.kind == "timeout"
    await asyncio.wait_for(provider.gone.wait(), 5)


async def test_the_groups_timeout_counts_for_each_piece_of_a_stream(
    provider: Provider, group: Group, sink: Sink
) -> None:
    async def slowly(_: Provider, request: Any, __: Any) -> Any:
        response = await streamed(chunk({"content": "x"}), done=False)(_, request, __)
        for _ in range(4):
            await asyncio.sleep(0.15)
            await response.write(f"data: {json.dumps(chunk({'content': 'x'}))}\n\n".encode())
        await response.write(b"data: [DONE]\n\n")
        return response

    provider.reply = slowly
    assert (await group(timeout=0.4).ask(asking(), sink)).text == "xxxxx"


async def test_the_requests_own_time_limits_everything(
    provider: Provider, group: Group, sink: Sink
) -> None:
    provider.reply = stalled_midway
    with pytest.raises(ModelError, match=r"within 0\.2 s") as caught:
        await group().ask(asking(timeout_seconds=0.2), sink)
    assert caught.value.kind == "timeout"
    assert sink.seen == ["Hel"]


@pytest.mark.parametrize("reply", [stalled, stalled_midway])
async def test_cancelling_ends_the_request_at_once(
    provider: Provider, group: Group, sink: Sink, reply: Any
) -> None:
    provider.reply = reply
    task = asyncio.create_task(group().ask(asking(), sink))
    await asyncio.wait_for(provider.arrived.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    await asyncio.wait_for(provider.gone.wait(), 5)


async def test_what_is_no_json_is_a_refused_request(provider: Provider, group: Group) -> None:
    with pytest.raises(ModelError, match="hooks") as caught:
        await group().ask(asking(messages=[{"role": "user", "content": {1, 2}}]))
    assert caught.value.kind == "refused_request"
    assert not provider.requests


async def test_half_a_character_does_not_stop_a_request(provider: Provider, group: Group) -> None:
    await group().ask(asking(messages=[{"role": "user", "content": "é \ud83d"}]))
    assert provider.bodies[0]["messages"][0]["content"] == "é \ud83d"


async def test_a_failing_sink_is_not_the_models_fault(provider: Provider, group: Group) -> None:
    async def broken(_: str) -> None:
        raise LookupError("channel")

    provider.reply = stalled_midway
    with pytest.raises(LookupError, match="channel"):
        await group().ask(asking(), broken)
    await asyncio.wait_for(provider.gone.wait(), 5)


async def test_requests_under_way_are_bounded(provider: Provider, group: Group) -> None:
    async def soon(provider: Provider, request: Any, body: Any) -> Any:
        await asyncio.sleep(0.01)
        return await whole("hello")(provider, request, body)

    provider.reply = soon
    models = [group(), group(seed=1)]
    answers = await asyncio.gather(*(models[n % 2].ask(asking()) for n in range(200)))
    assert [answer.text for answer in answers] == ["hello"] * 200
    assert 1 < provider.peak <= CONNECTIONS
    assert len(provider.connections) <= CONNECTIONS


async def test_waiting_for_a_turn_does_not_use_up_the_groups_timeout(
    provider: Provider, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def slow(provider: Provider, request: Any, body: Any) -> Any:
        await asyncio.sleep(0.5)
        return await whole("hello")(provider, request, body)

    monkeypatch.setattr("rasa_react_ext.host.chat.pool.CONNECTIONS", 1)
    provider.reply = slow
    model = group(timeout=1.2)
    await asyncio.gather(*(model.ask(asking()) for _ in range(3)))
    assert provider.peak == 1
