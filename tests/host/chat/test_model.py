"""The way to the provider is chosen, and lesser ways are found when it refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from rasa.shared.providers.llm.azure_openai_llm_client import AzureOpenAILLMClient
from rasa.tracing.engine_token_usage import clear_engine_token_store, get_engine_token_usage

from rasa_react_ext.errors import ConfigurationError, HostError, ModelError
from rasa_react_ext.host.chat import chat_model
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
    refusing,
    streamed,
    whole,
)

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::UserWarning:pydantic"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

Group = Callable[..., Any]
KEYS = pytest.mark.parametrize("key", [{}, {"top_a": 0.5}], ids=["our client", "litellm"])
"""The same group through our client and, by a key that it does not know, through litellm."""


@KEYS
async def test_a_provider_that_does_not_stream_is_asked_whole_from_then_on(
    provider: Provider, group: Group, sink: Sink, key: dict[str, Any]
) -> None:
    provider.reply = refusing("stream", whole("hello", tool_calls=[CALL]))
    model = group(**key)
    for _ in range(2):
        answer = await model.ask(asking(tools=[TOOL]), sink)
        assert (answer.text, answer.calls[0].name) == ("hello", "find")
        assert answer.first_token_ms is not None
    assert sink.seen == ["hello", "hello"]
    assert [bool(body.get("stream")) for body in provider.bodies] == [True, False, False]


@KEYS
async def test_a_provider_without_usage_in_streams_still_streams(
    provider: Provider, group: Group, sink: Sink, key: dict[str, Any]
) -> None:
    provider.reply = refusing("stream_options", streamed(chunk({"content": "Hi"}, "stop")))
    model = group(**key)
    for _ in range(2):
        assert (await model.ask(asking(), sink)).text == "Hi"
    sent = [(body.get("stream"), "stream_options" in body) for body in provider.bodies]
    assert sent == [(True, True), (True, False), (True, False)]


async def test_a_whole_body_instead_of_a_stream_is_taken_and_remembered(
    provider: Provider, group: Group, sink: Sink
) -> None:
    provider.reply = whole("<think>hm</think>hello")
    model = group()
    for _ in range(2):
        assert (await model.ask(asking(), sink)).text == "hello"
    assert sink.seen == ["hello", "hello"]
    assert [bool(body.get("stream")) for body in provider.bodies] == [True, False]


async def test_a_refusal_for_another_reason_leaves_streaming_on(
    provider: Provider, group: Group, sink: Sink
) -> None:
    model = group()
    streaming = streamed(chunk({"content": "Hi"}, "stop"))
    for refusal in (refused(400, "bad schema"), refused(503, "no stream now")):
        provider.reply = in_turn(refusal, streaming)
        with pytest.raises(ModelError):
            await model.ask(asking(), sink)
        await model.ask(asking(), sink)
    assert all(body["stream"] for body in provider.bodies)


async def test_a_refusal_of_both_ways_is_reported(
    provider: Provider, group: Group, sink: Sink
) -> None:
    provider.reply = refused(400, "upstream says no")
    with pytest.raises(ModelError, match="upstream says no"):
        await group().ask(asking(), sink)
    assert len(provider.requests) == 2
    provider.reply = streamed(chunk({"content": "Hi"}, "stop"))
    assert (await group().ask(asking(), sink)).text == "Hi"


async def test_a_router_group_does_not_slow_down_plain_groups(
    provider: Provider, group: Group
) -> None:
    routing = {"routing_strategy": "latency-based-routing"}
    await group(router=routing, provider="openai", model="gpt-4o", api_key="k").ask(asking())
    await group().ask(asking())
    agents = [request.headers["User-Agent"] for request in provider.requests]
    assert [agent.partition("/")[0] for agent in agents][1] == "rasa-react-ext"


async def test_without_a_sink_nothing_is_streamed(provider: Provider, group: Group) -> None:
    await group().ask(asking())
    assert "stream" not in provider.bodies[0]


@KEYS
@pytest.mark.parametrize("sinking", [False, True])
async def test_the_host_hears_of_the_usage(
    provider: Provider,
    group: Group,
    sink: Sink,
    monkeypatch: pytest.MonkeyPatch,
    key: dict[str, Any],
    sinking: bool,
) -> None:
    monkeypatch.setenv("RASA_FEATURE_FLAG_SIM_EVAL_EXTENDED", "true")
    clear_engine_token_store()
    if sinking:
        provider.reply = streamed(chunk({"content": "Hi"}, "stop"), USAGE)
    request = asking(metadata={"session_id": "talk"})
    await group(**key).ask(request, sink if sinking else None)
    usage = get_engine_token_usage("talk")
    assert (usage["prompt"], usage["completion"], usage["generations"]) == (7, 3, 1)


async def test_an_azure_deployment_learns_its_model_as_the_host_does(
    provider: Provider, group: Group
) -> None:
    async def named(provider: Provider, request: Any, body: Any) -> Any:
        from aiohttp import web

        message = {"role": "assistant", "content": "Hi"}
        return web.json_response({"model": "gpt-5.1-x", "choices": [{"message": message}]})

    provider.reply = named
    azure = {"provider": "azure", "model": None, "deployment": "chat", "api_base": provider.url}
    model = group(**azure, api_version="2024-10-21", api_key="k")
    for _ in range(2):
        await model.ask(asking())
    assert "reasoning_effort" not in provider.bodies[0]
    assert provider.bodies[1]["reasoning_effort"] == "none"


class Identity:
    """Stands for the identity library: gives another token each time, or fails."""

    def __init__(self, *tokens: str) -> None:
        self.left = list(tokens)
        self.threads: set[int] = set()

    def get_bearer_token(self) -> str:
        self.threads.add(threading.get_ident())
        if not self.left:
            raise RuntimeError("no token for you")
        return self.left.pop(0)


async def test_tokens_of_an_identity_provider_are_fetched_for_each_call_off_the_loop(
    provider: Provider, group: Group
) -> None:
    identity = Identity("first", "second")
    client = AzureOpenAILLMClient(
        "chat", api_base=provider.url, api_version="2024-10-21", oauth=identity
    )
    model = chat_model(client, name="sales")
    for _ in range(2):
        await model.ask(asking())
    sent = [request.headers["Authorization"] for request in provider.requests]
    assert sent == ["Bearer first", "Bearer second"]
    assert threading.get_ident() not in identity.threads
    with pytest.raises(ModelError, match="no token for you"):
        await model.ask(asking())
    await model.aclose()


OFF = {"use_chat_completions_endpoint": False}


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (OFF, "model_groups.sales.models.use_chat_completions_endpoint"),
        ({"router": OFF}, "model_groups.sales.router.use_chat_completions_endpoint"),
    ],
)
async def test_a_text_completions_group_is_refused(
    group: Group, settings: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigurationError, match="cannot offer tools") as caught:
        group(**settings)
    assert (caught.value.file, caught.value.key) == ("endpoints.yml", key)


def test_an_object_that_is_no_client_is_refused() -> None:
    with pytest.raises(HostError, match="llm_factory"):
        chat_model(object(), name="sales")
