"""A run of two steps against the scripted model, which refuses what providers refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rasa_react_ext.engine.step import CallRecord, Step
from rasa_react_ext.errors import ModelError
from rasa_react_ext.host.chat import HostChatModel
from rasa_react_ext.testing import ScriptedModel
from tests.host.chat.conftest import Sink, model_of
from tests.host.chat.provider import asking

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::UserWarning:pydantic"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

RULES = [
    {
        "when": {"last": "user"},
        "answer": {"text": "One moment.", "calls": [{"name": "find", "arguments": {"q": "é"}}]},
    },
    {"when": {"last": "tool"}, "answer": "It is 21 degrees."},
]
TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Finds.",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    },
}
USER = {"role": "user", "content": "How warm is it?"}
WAYS = pytest.mark.parametrize(
    "way",
    [
        {"provider": "self-hosted", "model": "m"},
        {"provider": "openai", "model": "gpt-4o", "api_key": "sk-anything"},
        {
            "provider": "openai",
            "model": "gpt-4o",
            "api_key": "sk-anything",
            "router": {"routing_strategy": "simple-shuffle"},
            "count": 2,
        },
    ],
    ids=["self-hosted", "openai", "router"],
)


async def first_step(model: HostChatModel, sink: Sink | None) -> Step:
    answer = await model.ask(asking(messages=[USER], tools=[TOOL], timeout_seconds=30.0), sink)
    assert answer.text == "One moment."
    calls = [
        CallRecord(
            id=call.id,
            name=call.name,
            arguments=call.arguments or "",
            result="21",
            extra=call.extra,
        )
        for call in answer.calls
    ]
    return Step(text=answer.text, calls=tuple(calls), extra=answer.extra, model=answer.model)


@WAYS
@pytest.mark.parametrize("sinking", [False, True])
@pytest.mark.parametrize("profile", ["openai", "azure", "vllm", "gemini_signed"])
async def test_b33_a_second_step_is_taken_by_strict_providers(
    way: dict[str, Any], sinking: bool, profile: str
) -> None:
    sink = Sink() if sinking else None
    async with ScriptedModel(RULES, profile=profile).serve() as server:
        model = model_of(**way, api_base=server.base_url)
        step = await first_step(model, sink)
        assert json.loads(step.calls[0].arguments) == {"q": "é"}
        answer = await model.ask(
            asking(messages=[USER, *step.messages()], tools=[TOOL], timeout_seconds=30.0), sink
        )
        await model.aclose()
    assert (answer.text, answer.finish_reason) == ("It is 21 degrees.", "stop")
    assert answer.usage is not None
    assert (sink is None) or "".join(sink.seen) == "One moment.It is 21 degrees."


@WAYS
@pytest.mark.parametrize("sinking", [False, True])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"status": 503, "headers": {"Retry-After": 2}}, "unavailable"),
        ("reset", "unavailable"),
        ({"cut": True}, "unavailable"),
        ("content_filter", "content_filter"),
        ("malformed", "bad_answer"),
    ],
)
async def test_b34_faults_have_the_same_kind_on_every_way(
    way: dict[str, Any], sinking: bool, fault: Any, kind: str
) -> None:
    if "router" in way:
        way = {**way, "router": {**way["router"], "num_retries": 0}}
    async with ScriptedModel([{"fault": fault}]).serve() as server:
        model = model_of(**way, api_base=server.base_url)
        with pytest.raises(ModelError) as caught:
            await model.ask(asking(), Sink() if sinking else None)
        await model.aclose()
    assert caught.value.kind == kind
    assert caught.value.retry_after_seconds == (2.0 if "status" in fault else None)
