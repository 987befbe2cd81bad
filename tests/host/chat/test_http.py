"""Plain groups through our own client, against a real provider on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import encode_basic_auth

from rasa_react_ext.engine.message import TokenUsage
from rasa_react_ext.errors import ModelError
from tests.host.chat.conftest import Sink
from tests.host.chat.provider import (
    CALL,
    TOOL,
    USAGE,
    Provider,
    asking,
    chunk,
    in_turn,
    refused,
    streamed,
    whole,
)

pytestmark = pytest.mark.host

Group = Callable[..., Any]


async def test_a_whole_answer(provider: Provider, group: Group) -> None:
    answer = await group(temperature=0.3, seed=7).ask(asking())
    assert (answer.text, answer.finish_reason, answer.model) == ("hello", "stop", "served-model")
    assert answer.usage == TokenUsage(prompt=7, completion=3)
    assert answer.first_token_ms is None
    assert answer.total_ms > 0
    assert provider.requests[0].path_qs == "/v1/chat/completions"
    assert provider.bodies == [
        {
            "model": "m",
            "temperature": 0.3,
            "seed": 7,
            "messages": [{"role": "user", "content": "hi"}],
        }
    ]


async def test_a_streamed_answer(provider: Provider, group: Group, sink: Sink) -> None:
    provider.reply = streamed(
        ": comment\n\n",
        chunk({"role": "assistant", "content": "<thi"}),
        chunk({"content": "nk>secret</think>\nHel"}),
        chunk({"content": "lo", "tool_calls": [CALL]}),
        chunk({}, "tool_calls"),
        USAGE,
    )
    answer = await group().ask(asking(tools=[TOOL]), sink)
    assert sink.seen == ["Hel", "lo"]
    assert answer.text == "Hello"
    assert [(call.name, call.arguments) for call in answer.calls] == [("find", '{"q": 1,}')]
    assert answer.usage == TokenUsage(prompt=7, completion=3)
    assert 0 < answer.first_token_ms <= answer.total_ms
    assert provider.bodies[0]["stream"] is True
    assert provider.bodies[0]["stream_options"] == {"include_usage": True}


async def test_one_connection_is_kept(provider: Provider, group: Group, sink: Sink) -> None:
    model = group()
    provider.reply = in_turn(streamed(chunk({"content": "Hi"}, "stop")), whole("Hi"))
    for _ in range(3):
        assert (await model.ask(asking(), sink)).text == "Hi"
    assert len(provider.connections) == 1


async def test_the_documented_default_model(
    provider: Provider, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1/")
    model = group(provider="openai", model="gpt-5.1-2025-11-13", api_base=None)
    await model.ask(asking(tools=[TOOL]))
    assert provider.requests[0].path == "/v1/chat/completions"
    authorization = provider.requests[0].headers["Authorization"]
    assert authorization == "Bearer sk-dummy-key-of-the-environment"
    assert provider.bodies[0] == {
        "model": "gpt-5.1-2025-11-13",
        "temperature": 1.0,
        "max_completion_tokens": 256,
        "reasoning_effort": "none",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [TOOL],
    }


async def test_a_key_is_read_from_the_environment_at_each_call(
    provider: Provider, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SALES_KEY", "first-key")
    model = group(provider="openai", model="gpt-4o", api_key="${SALES_KEY}")
    await model.ask(asking())
    monkeypatch.setenv("SALES_KEY", "second-key")
    await model.ask(asking())
    sent = [request.headers["Authorization"] for request in provider.requests]
    assert sent == ["Bearer first-key", "Bearer second-key"]


async def test_an_azure_deployment(provider: Provider, group: Group, sink: Sink) -> None:
    # Azure opens a stream with a chunk of filter results and no choices.
    opening = {"choices": [], "prompt_filter_results": [], "model": ""}
    provider.reply = streamed(opening, chunk({"content": "Hi"}, "stop"))
    model = group(
        provider="azure",
        model=None,
        deployment="chat one",
        api_base=provider.url,
        api_version="2024-10-21",
        api_key="${OPENAI_API_KEY}",
        max_completion_tokens=5,
    )
    assert (await model.ask(asking(), sink)).text == "Hi"
    request = provider.requests[0]
    path = "/openai/deployments/chat%20one/chat/completions?api-version=2024-10-21"
    assert request.raw_path == path
    assert request.headers["api-key"] == "sk-dummy-key-of-the-environment"
    assert "Authorization" not in request.headers
    assert provider.bodies[0]["max_completion_tokens"] == 5


async def test_headers_and_body_of_the_group_are_sent(provider: Provider, group: Group) -> None:
    model = group(
        provider="openai",
        model="gpt-4o",
        api_base=f"{provider.url}/v1/chat/completions",
        organization="org-1",
        extra_headers={"X-Team": "sales"},
        default_headers={"X-Team": "all", "X-Number": 1},
        extra_body={"top_a": 0.1},
    )
    await model.ask(asking())
    request = provider.requests[0]
    assert request.path == "/v1/chat/completions"
    names = ("OpenAI-Organization", "X-Team", "X-Number")
    assert [request.headers[name] for name in names] == ["org-1", "sales", "1"]
    assert provider.bodies[0]["top_a"] == 0.1
    assert "extra_body" not in provider.bodies[0]


async def test_b32_tool_settings_are_sent_only_beside_tools(
    provider: Provider, group: Group
) -> None:
    switched = group(parallel_tool_calls=False, tool_choice="auto")
    for model, request in (
        (group(), asking(tools=[TOOL])),
        (group(), asking(allow_tools=False)),
        (group(), asking(tools=[TOOL], allow_tools=False)),
        (switched, asking(tools=[TOOL])),
        (switched, asking()),
    ):
        await model.ask(request)
    names = ("tools", "tool_choice", "parallel_tool_calls")
    sent = [{name: body[name] for name in names if name in body} for body in provider.bodies]
    assert sent == [
        {"tools": [TOOL]},
        {},
        {"tools": [TOOL], "tool_choice": "none"},
        {"tools": [TOOL], "tool_choice": "auto", "parallel_tool_calls": False},
        {},
    ]


async def test_b33_provider_fields_come_through(provider: Provider, group: Group) -> None:
    signed = {"google": {"thought_signature": "abc"}}
    provider.reply = whole(tool_calls=[{**CALL, "extra_content": signed}], reasoning="hm")
    answer = await group().ask(asking(tools=[TOOL]))
    assert answer.calls[0].extra == {"extra_content": signed}
    assert answer.extra == {"reasoning": "hm"}


@pytest.mark.parametrize("sinking", [False, True])
@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (refused(429, {"error": {"message": "slow"}}), ("rate_limit", "slow")),
        (refused(500, "oops"), ("unavailable", "oops")),
        (refused(400, {"error": {"code": "content_filter"}}), ("content_filter", "content_filter")),
        (refused(400, {"error": {"code": "context_length_exceeded"}}), ("context_length", "400")),
        (refused(401, {"error": {"message": "bad sk-dummy"}}), ("refused_request", "bad")),
        (refused(307, "", Location="http://elsewhere.invalid/"), ("refused_request", "elsewhere")),
        (refused(200, "<html>welcome</html>"), ("bad_answer", "welcome")),
        (refused(200, "{not json"), ("bad_answer", "not json")),
        (refused(200, ""), ("bad_answer", "JSON")),
        (refused(200, {"error": {"message": "overloaded"}}), ("unavailable", "overloaded")),
        (refused(200, {"error": {"message": "slow", "code": 429}}), ("rate_limit", "slow")),
    ],
)
async def test_a_failing_provider_is_a_model_error(
    provider: Provider, group: Group, reply: Any, fault: tuple[str, str], sinking: bool
) -> None:
    provider.reply = reply
    kind, said = fault
    with pytest.raises(ModelError, match=said) as caught:
        await group().ask(asking(), Sink() if sinking else None)
    assert caught.value.kind == kind
    assert caught.value.peer == "sales"
    assert len(provider.requests) == 1


async def test_the_pause_a_provider_asks_for_is_reported(provider: Provider, group: Group) -> None:
    provider.reply = refused(429, "", **{"Retry-After": "3"})
    with pytest.raises(ModelError) as caught:
        await group().ask(asking())
    assert caught.value.retry_after_seconds == 3.0


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (streamed(chunk({"content": "Hel"}), "data: {oops\n\n"), "bad_answer"),
        (streamed(chunk({"content": "Hel"}), {"error": {"message": "died"}}), "unavailable"),
        (streamed(chunk({"content": "Hel"}), done=False), "unavailable"),
    ],
)
async def test_a_stream_that_breaks_off_is_a_model_error(
    provider: Provider, group: Group, sink: Sink, reply: Any, kind: str
) -> None:
    provider.reply = reply
    with pytest.raises(ModelError) as caught:
        await group().ask(asking(), sink)
    assert caught.value.kind == kind
    assert sink.seen == ["Hel"]


async def test_a_stream_may_end_without_its_marker(
    provider: Provider, group: Group, sink: Sink
) -> None:
    provider.reply = streamed(chunk({"content": "Hi"}, "stop"), done=False)
    assert (await group().ask(asking(), sink)).text == "Hi"


async def test_an_unreachable_provider_is_unavailable(
    group: Group, free_port: Callable[[], int]
) -> None:
    for base in (f"http://127.0.0.1:{free_port()}/v1", "http://no-such-host.invalid/v1"):
        with pytest.raises(ModelError, match="could not be reached") as caught:
            await group(api_base=base).ask(asking())
        assert caught.value.kind == "unavailable"


async def test_a_broken_address_is_a_refused_request(group: Group) -> None:
    for base in ("http://127.0.0.1:99999/v1", "http:///v1", "model/v1"):
        with pytest.raises(ModelError) as caught:
            await group(api_base=base).ask(asking())
        assert caught.value.kind == "refused_request"


@contextlib.asynccontextmanager
async def raw_server(*answers: bytes) -> AsyncIterator[str]:
    """Each request, on whatever connection, gets the next answer; an empty one cuts."""
    left = list(answers)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(
                    int(head.lower().split(b"content-length: ")[1].split(b"\r")[0])
                )
                answer = left.pop(0)
                writer.write(answer)
                await writer.drain()
                if not answer:
                    break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def raw(text: str, length: int | None = None) -> bytes:
    body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (length or len(body), body)


async def test_a_kept_connection_that_was_closed_is_replaced(group: Group) -> None:
    async with raw_server(raw("one"), b"", raw("two")) as base:
        model = group(api_base=base)
        assert [(await model.ask(asking())).text for _ in range(2)] == ["one", "two"]
        await model.aclose()


async def test_a_reset_connection_is_unavailable(group: Group) -> None:
    async with raw_server(b"", b"") as base:
        model = group(api_base=base)
        with pytest.raises(ModelError) as caught:
            await model.ask(asking())
        assert caught.value.kind == "unavailable"
        await model.aclose()


async def test_failures_that_may_pass_are_retried_as_the_group_says(
    provider: Provider, group: Group
) -> None:
    again = refused(429, "", **{"retry-after-ms": "1"})
    for key in ("num_retries", "max_retries"):
        provider.requests.clear()
        provider.reply = in_turn(again, again, whole("at last"))
        assert (await group(**{key: 2}).ask(asking())).text == "at last"
        assert len(provider.requests) == 3
    provider.requests.clear()
    provider.reply = in_turn(again, refused(400, "no"), whole("never"))
    with pytest.raises(ModelError, match="no"):
        await group(num_retries=5).ask(asking())
    assert len(provider.requests) == 2


async def test_a_long_pause_is_left_to_the_caller(provider: Provider, group: Group) -> None:
    provider.reply = refused(429, "", **{"Retry-After": "60"})
    with pytest.raises(ModelError) as caught:
        await group(num_retries=2).ask(asking())
    assert caught.value.retry_after_seconds == 60
    assert len(provider.requests) == 1


async def test_a_proxy_of_the_environment_is_used(
    provider: Provider, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", provider.url.replace("//", "//me:p%40ss@"))
    model = group(api_base="http://model.invalid/v1")
    assert (await model.ask(asking())).text == "hello"
    request = provider.requests[0]
    assert request.headers["Host"] == "model.invalid"
    assert request.headers["Proxy-Authorization"] == encode_basic_auth("me", "p@ss")
    monkeypatch.setenv("NO_PROXY", "model.invalid")
    with pytest.raises(ModelError, match="could not be reached"):
        await model.ask(asking())
