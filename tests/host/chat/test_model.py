"""Asking through a host client against a real provider on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.engine.message import ModelRequest, TokenUsage
from rasa_react_ext.errors import ModelError
from tests.host.chat.provider import Provider, chunk, streamed, whole, USAGE

pytestmark = pytest.mark.host

TOOL = {
    "type": "function",
    "function": {"name": "find", "description": "", "parameters": {"type": "object"}},
}


def request(**more: Any) -> ModelRequest:
    return ModelRequest(
        **{"messages": [{"role": "user", "content": "hi"}], "timeout_seconds": 5.0, **more}
    )


async def test_plain_answer(provider: Provider, group: Any) -> None:
    answer = await group().ask(request())
    assert (answer.text, answer.finish_reason, answer.model) == ("hello", "stop", "served-model")
    assert answer.usage == TokenUsage(prompt=7, completion=3)
    assert answer.first_token_ms is None
    assert answer.total_ms > 0
    assert provider.requests[0].path == "/v1/chat/completions"
    assert provider.bodies == [{"model": "m", "messages": [{"role": "user", "content": "hi"}]}]


async def test_streamed_answer(provider: Provider, group: Any) -> None:
    provider.reply = streamed(chunk({"content": "Hel"}), chunk({"content": "lo"}, "stop"), USAGE)
    seen: list[str] = []

    async def sink(text: str) -> None:
        seen.append(text)

    answer = await group().ask(request(), sink)
    assert seen == ["Hel", "lo"]
    assert answer.text == "Hello"
    assert answer.usage == TokenUsage(prompt=7, completion=3)
    assert provider.bodies[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("sinking", [False, True])
async def test_router(provider: Provider, group: Any, sinking: bool) -> None:
    call = {
        "index": 0,
        "id": "a",
        "type": "function",
        "function": {"name": "find", "arguments": "{}"},
    }
    provider.reply = (
        streamed(chunk({"tool_calls": [call]}), chunk({}, "tool_calls"), USAGE)
        if sinking
        else whole(tool_calls=[call])
    )

    async def sink(text: str) -> None:
        pass

    answer = await group(
        router={"routing_strategy": "simple-shuffle"},
        count=2,
        provider="openai",
        model="gpt-4o",
        api_key="sk-x",
    ).ask(request(tools=[TOOL]), sink if sinking else None)
    print(answer)
    assert answer.calls[0].name == "find"
    assert provider.bodies[0].get("stream", False) is sinking
