"""Router groups, and plain groups that litellm must serve, against a real provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger

from rasa_react_ext.engine.message import TokenUsage
from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat.litellm_wire import litellm_fault
from tests.host.chat.conftest import Sink
from tests.host.chat.provider import (
    CALL,
    TOOL,
    USAGE,
    Provider,
    asking,
    chunk,
    refused,
    stalled,
    stalled_midway,
    streamed,
    whole,
)

pytestmark = [
    pytest.mark.host,
    # litellm imports parts of itself, and makes clients, at the first call.
    pytest.mark.filterwarnings("ignore::UserWarning:pydantic"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

Group = Callable[..., Any]


@pytest.fixture
def routed(group: Group) -> Group:
    """Makes a router group of two deployments."""

    def make(**model: Any) -> Any:
        settings = {
            "provider": "openai",
            "model": "gpt-4o",
            "api_key": "${OPENAI_API_KEY}",
            **model,
        }
        routing = {"routing_strategy": "simple-shuffle", "num_retries": 0}
        return group(router=routing, count=2, **settings)

    return make


async def test_a_router_group_answers_whole(provider: Provider, routed: Group) -> None:
    provider.reply = whole(None, "tool_calls", tool_calls=[CALL])
    answer = await routed().ask(asking(tools=[TOOL], allow_tools=False))
    assert [(call.id, call.name, call.arguments) for call in answer.calls] == [
        ("a", "find", '{"q": 1,}')
    ]
    assert answer.finish_reason == "tool_calls"
    assert answer.usage == TokenUsage(prompt=7, completion=3)
    assert answer.extra == {}
    assert provider.bodies[0]["tool_choice"] == "none"
    key = provider.requests[0].headers["Authorization"]
    assert key == "Bearer sk-dummy-key-of-the-environment"


async def test_a_router_group_streams_text_and_calls(
    provider: Provider, routed: Group, sink: Sink
) -> None:
    other = {**CALL, "index": 1, "id": "b"}
    provider.reply = streamed(
        chunk({"role": "assistant", "content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({"tool_calls": [CALL]}),
        chunk({"tool_calls": [other]}),
        chunk({}, "tool_calls"),
        USAGE,
    )
    answer = await routed().ask(asking(tools=[TOOL]), sink)
    assert provider.bodies[0]["stream"] is True
    assert "".join(sink.seen) == answer.text == "Hello"
    assert len(sink.seen) == 2
    assert [(call.id, call.arguments) for call in answer.calls] == [
        ("a", '{"q": 1,}'),
        ("b", '{"q": 1,}'),
    ]
    assert answer.finish_reason == "tool_calls"
    assert answer.usage == TokenUsage(prompt=7, completion=3)


async def test_b32_a_router_group_gets_tool_settings_only_beside_tools(
    provider: Provider, routed: Group
) -> None:
    await routed().ask(asking(allow_tools=False))
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & provider.bodies[0].keys()


async def test_the_request_is_left_as_it_was(provider: Provider, group: Group) -> None:
    request = asking(tools=[{**TOOL, "function": {**TOOL["function"], "strict": True}}])
    await group(thinking={"type": "enabled", "budget_tokens": 1}).ask(request)
    assert provider.bodies[0]["reasoning_effort"]
    assert request.tools[0]["function"]["parameters"]["additionalProperties"] is False
    assert request.tools[0]["function"]["strict"] is True


async def test_an_unknown_key_is_left_to_litellm(provider: Provider, group: Group) -> None:
    answer = await group(top_a=0.5).ask(asking())
    assert answer.text == "hello"
    assert provider.bodies[0]["top_a"] == 0.5


async def test_tracing_through_litellm_is_not_lost(
    provider: Provider, group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced: asyncio.Queue[Any] = asyncio.Queue()

    class Tracer(CustomLogger):
        async def async_log_success_event(
            self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any
        ) -> None:
            traced.put_nowait(kwargs["litellm_params"]["metadata"])

    monkeypatch.setattr(litellm, "callbacks", [Tracer()])
    await group().ask(asking(metadata={"session_id": "s1"}))
    metadata = await asyncio.wait_for(traced.get(), 5)
    assert metadata["session_id"] == "s1"
    assert "metadata" not in provider.bodies[0]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (refused(429, {"error": {"message": "slow"}}, **{"Retry-After": "3"}), "rate_limit"),
        (refused(500, {"error": {"message": "oops"}}), "unavailable"),
        (refused(503, {"error": {"message": "oops"}}), "unavailable"),
        (refused(400, {"error": {"code": "content_filter", "message": "x"}}), "content_filter"),
        (
            refused(400, {"error": {"message": "maximum context length is 8"}}),
            "context_length",
        ),
        (refused(401, {"error": {"message": "who"}}), "refused_request"),
        (refused(400, {"error": {"message": "bad schema"}}), "refused_request"),
    ],
)
@pytest.mark.parametrize("sinking", [False, True])
async def test_litellms_errors_are_model_errors(
    provider: Provider, routed: Group, reply: Any, kind: str, sinking: bool
) -> None:
    provider.reply = reply
    with pytest.raises(ModelError) as caught:
        await routed().ask(asking(), Sink() if sinking else None)
    assert caught.value.kind == kind
    assert len(str(caught.value)) < 450
    assert "sk-dummy" not in str(caught.value)


async def test_the_pause_a_provider_asks_for_is_reported(provider: Provider, group: Group) -> None:
    provider.reply = refused(429, {"error": {"message": "slow"}}, **{"Retry-After": "3"})
    with pytest.raises(ModelError) as caught:
        await group(top_a=0.5).ask(asking())
    assert caught.value.retry_after_seconds == 3.0
    assert len(provider.requests) == 1


async def test_an_unreachable_provider_is_unavailable(
    group: Group, free_port: Callable[[], int]
) -> None:
    with pytest.raises(ModelError) as caught:
        await group(top_a=0.5, api_base=f"http://127.0.0.1:{free_port()}/v1").ask(asking())
    assert caught.value.kind == "unavailable"


@pytest.mark.parametrize("sinking", [False, True])
@pytest.mark.parametrize("reply", [stalled, stalled_midway])
async def test_time_limits_end_a_call(
    provider: Provider, group: Group, reply: Any, sinking: bool
) -> None:
    provider.reply = reply
    for request, timeout in ((asking(timeout_seconds=0.5), 60), (asking(), 0.5)):
        with pytest.raises(ModelError) as caught:
            await group(top_a=0.5, timeout=timeout).ask(request, Sink() if sinking else None)
        assert caught.value.kind == "timeout"


@pytest.mark.parametrize("reply", [stalled, stalled_midway])
async def test_cancelling_ends_the_request_at_once(
    provider: Provider, routed: Group, sink: Sink, reply: Any
) -> None:
    provider.reply = reply
    model = routed()
    task = asyncio.create_task(model.ask(asking(), sink))
    await asyncio.wait_for(provider.arrived.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    await asyncio.wait_for(provider.gone.wait(), 5)


def test_a_router_that_rests_tells_for_how_long() -> None:
    from litellm.types.router import RouterRateLimitError

    resting = RouterRateLimitError(
        model="sales", cooldown_time=5.0, enable_pre_call_checks=False, cooldown_list=[]
    )
    error = litellm_fault("sales", resting)
    assert (error.kind, error.retry_after_seconds) == ("rate_limit", 5.0)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "timeout"),
        (ConnectionResetError(), "unavailable"),
        (litellm.APIResponseValidationError("bad", "openai", "m"), "bad_answer"),
        (ValueError("unknown argument"), "refused_request"),
    ],
)
def test_plain_errors_have_a_kind(error: Exception, kind: str) -> None:
    assert litellm_fault("sales", error).kind == kind
