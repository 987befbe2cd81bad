from __future__ import annotations

import asyncio
import json
import math
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing import ModelScript, ModelServer, ScriptedModel
from tests.testing.bodies import body, called, result, said, tool, user

RULES: list[dict[str, Any]] = [
    {
        "name": "calls",
        "when": {"user": "/price of (?P<symbol>\\w+)/", "step": 1},
        "answer": {
            "text": "Let me look.",
            "calls": [
                {"name": "find", "arguments": {"q": "{{ symbol }}", "most": 5}},
                {"name": "news", "extra": {"extra_content": {"sig": "s"}}},
            ],
            "reasoning": "They want a price, so I look for the symbol.",
            "stream": {"chunk_chars": 5},
        },
    },
    {"name": "done", "when": {"tool": "find"}, "answer": "It is {{ result }}."},
    {
        "name": "odd",
        "when": {"user": "odd"},
        "answer": {
            "text": "whole",
            "stream": {
                "deltas": [
                    ": a comment",
                    {"tool_calls": [{"index": 0, "id": "a", "function": {"name": ""}}]},
                    {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]},
                ]
            },
        },
    },
    {
        "when": {"user": "limit"},
        "fault": {"status": 429, "headers": {"Retry-After": 2}, "body": {"error": {"code": "x"}}},
    },
    {"when": {"user": "page"}, "fault": {"status": 502, "body": "<html>bad gateway</html>"}},
    {
        "when": {"user": "markup"},
        "fault": {"status": 503, "body": "<x/>", "headers": {"content-type": "text/xml"}},
    },
    {"when": {"user": "plain 500"}, "fault": {"status": 500}},
    {"when": {"user": "reset"}, "fault": "reset"},
    {"when": {"user": "cut"}, "fault": "cut"},
    {"when": {"user": "hang forever"}, "fault": "hang"},
    {"when": {"user": "hang briefly"}, "fault": {"hang": 0.05}},
    {"when": {"user": "malformed"}, "fault": "malformed"},
    {"when": {"user": "filtered"}, "fault": "content_filter"},
    {"when": {"user": "late fault"}, "fault": {"status": 500, "delay_seconds": 0.1}},
    {"when": {"user": "late answer"}, "answer": {"text": "late", "delay_seconds": 0.1}},
    {"when": {"user": "very late"}, "answer": {"text": "late", "delay_seconds": 60}},
    {
        "when": {"user": "slow stream"},
        "answer": {"text": "abcdef", "stream": {"chunk_chars": 1, "interval_seconds": 0.02}},
    },
    {
        "when": {"user": "endless stream"},
        "answer": {"text": "abcdef", "stream": {"chunk_chars": 1, "interval_seconds": 60}},
    },
]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ScriptedModel(RULES).serve() as running:
        yield running


@pytest.fixture
async def http(server: ModelServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.base_url, timeout=10) as client:
        yield client


@pytest.fixture
async def client(server: ModelServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=server.base_url, api_key="none", max_retries=0, timeout=10
    ) as made:
        yield made


async def _post(http: httpx.AsyncClient, text: str, **more: Any) -> httpx.Response:
    return await http.post("/chat/completions", json=body(user(text), **more))


async def test_the_openai_package_reads_an_answer(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    asked = body(user("price of ACME"), tools=[tool("find"), tool("news")])
    answer = await client.chat.completions.create(**asked)
    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me look."
    assert choice.message.model_extra == {
        "reasoning_content": "They want a price, so I look for the symbol."
    }
    find, news = choice.message.tool_calls or []
    assert (find.id, find.function.name) == ("call_1_1", "find")
    assert json.loads(find.function.arguments) == {"q": "ACME", "most": 5}
    assert news.function.arguments == "{}"
    assert news.model_extra == {"extra_content": {"sig": "s"}}
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0
    assert server.last.rule == "calls"
    assert server.last.status == 200
    assert server.tool_names() == ["find", "news"]
    assert server.messages() == [user("price of ACME")]


async def test_the_openai_package_reads_a_stream(client: openai.AsyncOpenAI) -> None:
    asked = body(user("price of ACME"), stream_options={"include_usage": True})
    chunks = [chunk async for chunk in await client.chat.completions.create(**asked, stream=True)]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    texts = [delta.content for delta in deltas if delta.content]
    assert texts == ["Let m", "e loo", "k."]
    calls: dict[int, list[Any]] = {0: [], 1: []}
    for delta in deltas:
        for call in delta.tool_calls or []:
            calls[call.index].append(call)
    assert [parts[0].function.name for parts in calls.values()] == ["find", "news"]
    arguments = ["".join(p.function.arguments or "" for p in parts) for parts in calls.values()]
    assert [json.loads(text) for text in arguments] == [{"q": "ACME", "most": 5}, {}]
    assert len(calls[0]) > 3
    assert calls[1][0].model_extra == {"extra_content": {"sig": "s"}}
    reasoning = "".join((d.model_extra or {}).get("reasoning_content", "") for d in deltas)
    assert reasoning == "They want a price, so I look for the symbol."
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "tool_calls"
    assert chunks[-1].usage is not None
    assert chunks[-1].choices == []


async def test_a_stream_ends_with_done_and_has_usage_only_when_asked(
    http: httpx.AsyncClient,
) -> None:
    answer = await _post(http, "price of ACME", stream=True)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.text.endswith("data: [DONE]\n\n")
    assert "usage" not in answer.text


async def test_the_second_step_sees_the_result(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    history = (user("price of ACME"), called(("c", "find")), result("c", "42"))
    answer = await client.chat.completions.create(**body(*history))
    assert answer.choices[0].message.content == "It is 42."
    assert answer.choices[0].finish_reason == "stop"
    assert server.messages(0)[-1] == result("c", "42")


async def test_raw_deltas_replace_the_usual_ones(http: httpx.AsyncClient) -> None:
    lines = (await _post(http, "odd", stream=True)).text.split("\n\n")
    assert lines[0] == ": a comment"
    assert json.loads(lines[1].removeprefix("data: "))["choices"][0]["delta"] == {
        "tool_calls": [{"index": 0, "id": "a", "function": {"name": ""}}]
    }
    assert json.loads(lines[2].removeprefix("data: "))["choices"][0]["finish_reason"] == "length"
    assert lines[3:] == ["data: [DONE]", ""]
    whole = (await _post(http, "odd")).json()
    assert whole["choices"][0]["message"]["content"] == "whole"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/chat/completions",
        "/openai/v1/chat/completions",
        "/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
    ],
)
async def test_every_usual_path_answers(server: ModelServer, path: str) -> None:
    async with httpx.AsyncClient() as http:
        answer = await http.post(server.url + path, json=body(user("late answer")))
    assert answer.status_code == 200
    assert server.last.path == path.partition("?")[0]


async def test_the_azure_client_reads_an_answer_of_its_deployment(server: ModelServer) -> None:
    server.use([{"when": {"model": "my-deployment"}, "answer": "hi"}])
    async with openai.AsyncAzureOpenAI(
        azure_endpoint=server.url, api_key="none", api_version="2024-10-21", max_retries=0
    ) as client:
        answer = await client.chat.completions.create(
            **(body(user("x")) | {"model": "my-deployment"})
        )
    assert answer.choices[0].message.content == "hi"
    assert server.last.headers["api-key"] == "none"


async def test_models_are_listed_and_other_requests_refused(
    client: openai.AsyncOpenAI, http: httpx.AsyncClient
) -> None:
    assert [model.id for model in (await client.models.list()).data] == ["scripted"]
    assert (await http.get("/chat/completions")).status_code == 405
    assert (await http.post("/audio/speech", json={})).status_code == 404


def _likeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_embeddings_are_near_where_texts_share_words(
    server: ModelServer, client: openai.AsyncOpenAI, http: httpx.AsyncClient
) -> None:
    texts = ["book an adviser", "book my adviser", "buy shares", ""]
    answer = await client.embeddings.create(model="small", input=texts)
    one, two, other, nothing = [item.embedding for item in answer.data]
    assert math.isclose(math.hypot(*one), 1, rel_tol=1e-6)
    assert _likeness(one, two) > 0.5 > _likeness(one, other)
    assert len(nothing) == len(one)
    single = await client.embeddings.create(model="small", input=texts[0])
    assert single.data[0].embedding == one
    tokens = await http.post("/embeddings", json={"input": [1, 2, 3]})
    assert len(tokens.json()["data"]) == 1
    assert (await http.post("/embeddings", content=b"[]")).status_code == 400
    assert server.request_count == 0


async def test_a_body_that_is_no_json_object_is_refused(
    server: ModelServer, http: httpx.AsyncClient
) -> None:
    for content in (b"{", b"[]", b"\xff"):
        answer = await http.post("/chat/completions", content=content)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == "The body is not a JSON object."
    assert server.last.body is None
    assert server.messages() == []


async def test_an_unmatched_request_is_recorded(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    with pytest.raises(openai.BadRequestError, match="No rule of script matches") as caught:
        await client.chat.completions.create(**body(user("bond")))
    assert caught.value.code == "no_matching_rule"
    assert server.unmatched == server.requests
    assert server.last.rule is None


async def test_a_status_fault_has_its_headers_and_body(
    server: ModelServer, client: openai.AsyncOpenAI
) -> None:
    with pytest.raises(openai.RateLimitError) as caught:
        await client.chat.completions.create(**body(user("limit")))
    assert caught.value.response.headers["retry-after"] == "2"
    assert caught.value.body == {"code": "x"}
    assert (server.last.rule, server.last.status) == ("rules[4]", 429)
    assert server.unmatched == []


@pytest.mark.parametrize(
    ("text", "status", "kind", "content"),
    [
        ("page", 502, "text/plain; charset=utf-8", "<html>bad gateway</html>"),
        ("markup", 503, "text/xml", "<x/>"),
        ("plain 500", 500, "application/json", '"type":"server_error"'),
        ("late fault", 500, "application/json", "The script answers with status 500."),
        ("filtered", 400, "application/json", '"code":"content_filter"'),
        ("filtered", 400, "application/json", '"filtered":true'),
        ("malformed", 200, "application/json", '"role": "assist'),
    ],
)
async def test_a_fault_with_a_response_has_this_status_and_body(
    http: httpx.AsyncClient, text: str, status: int, kind: str, content: str
) -> None:
    answer = await _post(http, text)
    assert (answer.status_code, answer.headers["content-type"]) == (status, kind)
    assert content in answer.text


async def test_a_malformed_answer_is_no_json_in_either_form(http: httpx.AsyncClient) -> None:
    with pytest.raises(json.JSONDecodeError):
        (await _post(http, "malformed")).json()
    streamed = (await _post(http, "malformed", stream=True)).text
    with pytest.raises(json.JSONDecodeError):
        json.loads(streamed.removeprefix("data: "))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_reset_comes_before_any_byte(
    server: ModelServer, http: httpx.AsyncClient, stream: bool
) -> None:
    with pytest.raises(httpx.ReadError):
        await _post(http, "reset", stream=stream)
    assert server.last.status is None
    assert not server.last.client_left


async def test_a_stream_is_cut_after_some_chunks(
    server: ModelServer, http: httpx.AsyncClient
) -> None:
    got: list[str] = []
    asked = body(user("cut"), stream=True)
    with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"):
        async with http.stream("POST", "/chat/completions", json=asked) as answer:
            got.extend([line async for line in answer.aiter_lines() if line])
    assert server.last.status == 200
    assert "[DONE]" not in "".join(got)


async def test_a_whole_answer_is_cut_in_the_middle_of_its_body(http: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
        await _post(http, "cut")


async def test_a_hanging_request_is_answered_when_the_client_leaves(
    server: ModelServer, http: httpx.AsyncClient
) -> None:
    asking = asyncio.create_task(_post(http, "hang forever"))
    await server.wait_until(lambda s: s.request_count == 1)
    assert server.last.answered_at is None
    asking.cancel()
    await asyncio.wait([asking])
    await server.wait_until(lambda s: s.last.answered_at is not None)
    assert server.last.client_left
    assert server.last.status is None


async def test_a_hanging_request_is_dropped_after_its_bound(http: httpx.AsyncClient) -> None:
    with pytest.raises(httpx.ReadError):
        await _post(http, "hang briefly")


@pytest.mark.parametrize("text", ["very late", "endless stream"])
async def test_a_client_that_leaves_a_waiting_answer_is_noticed(
    server: ModelServer, http: httpx.AsyncClient, text: str
) -> None:
    asking = asyncio.create_task(_post(http, text, stream=True))
    await server.wait_until(lambda s: s.request_count == 1)
    asking.cancel()
    await asyncio.wait([asking])
    await server.wait_until(lambda s: s.last.client_left)


async def test_delays_and_intervals_are_waited(http: httpx.AsyncClient) -> None:
    for text, seconds in (("late answer", 0.1), ("late fault", 0.1), ("slow stream", 0.1)):
        started = time.monotonic()
        await _post(http, text, stream=text == "slow stream")
        assert time.monotonic() - started >= seconds


async def test_stopping_is_quick_although_requests_wait() -> None:
    async with httpx.AsyncClient(timeout=10) as http:
        async with ScriptedModel(RULES).serve() as server:
            url = f"{server.base_url}/chat/completions"
            asking = [
                asyncio.create_task(http.post(url, json=body(user(text), stream=True)))
                for text in ("hang forever", "very late", "endless stream", "hang forever")
            ]
            await server.wait_until(lambda s: s.request_count == 4)
            started = time.monotonic()
        assert time.monotonic() - started < 2
        answers = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(answer, httpx.TransportError) for answer in answers)


def test_in_a_thread_the_server_serves_and_stops() -> None:
    with ScriptedModel(RULES).serve() as server:
        with httpx.Client(base_url=server.base_url) as http:
            asked = body(user("price of ACME"), said("wait"))
            assert http.post("/chat/completions", json=asked).status_code == 200
        assert server.last.rule == "calls"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{server.base_url}/models")


async def test_in_a_thread_the_server_can_be_waited_for_from_another_loop() -> None:
    with ScriptedModel(RULES).serve() as server:
        async with httpx.AsyncClient(base_url=server.base_url, timeout=10) as http:
            asking = asyncio.create_task(_post(http, "late answer"))
            await server.wait_until(lambda s: s.request_count == 1)
            assert (await asking).status_code == 200


def test_a_taken_port_is_an_error_in_both_forms() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        async def serve() -> None:
            async with ScriptedModel(RULES).serve(port):
                pass

        with pytest.raises(OSError, match="in use"):
            asyncio.run(serve())
        with pytest.raises(OSError, match="in use"), ScriptedModel(RULES).serve(port):
            pass


async def test_waiting_is_bounded(server: ModelServer) -> None:
    with pytest.raises(TimeoutError):
        await server.wait_until(lambda s: s.request_count == 1, timeout_seconds=0.01)


async def test_the_log_is_bounded_and_can_be_cleared() -> None:
    async with (
        ScriptedModel([{"answer": "x"}], keep_requests=2).serve() as server,
        httpx.AsyncClient(base_url=server.base_url) as http,
    ):
        with pytest.raises(LookupError, match="not asked anything yet"):
            _ = server.last
        for text in "abc":
            await _post(http, text)
        assert [server.messages(n)[0]["content"] for n in (0, 1)] == ["b", "c"]
        assert (server.request_count, server.last.number) == (3, 3)
        server.clear()
        assert (server.requests, server.request_count) == ([], 0)


async def test_each_server_plays_from_the_beginning_and_another_script_can_be_put_in() -> None:
    model = ScriptedModel([{"answers": ["one", "two"]}])
    for _ in range(2):
        async with (
            model.serve() as server,
            httpx.AsyncClient(base_url=server.base_url) as http,
        ):
            assert "one" in (await _post(http, "x")).text
            server.use(ModelScript.from_rules([{"answer": "other"}]))
            assert "other" in (await _post(http, "x")).text
            assert server.request_count == 2


async def test_the_log_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    async with (
        ScriptedModel([{"name": "r", "answer": "hi"}], request_log=path).serve() as server,
        httpx.AsyncClient(base_url=server.base_url) as http,
    ):
        await _post(http, "grüß", stream=True)
        (line,) = path.read_text(encoding="utf-8").splitlines()
    written = json.loads(line)
    assert written["body"]["messages"] == [user("grüß")]
    assert written["answer"]["choices"][0]["message"]["content"] == "hi"
    assert (written["rule"], written["status"]) == ("r", 200)
    assert written["answered_at"] >= written["received_at"]
    assert "headers" not in written


async def test_a_profile_refuses_before_the_script_is_asked() -> None:
    rules = [{"times": 1, "answer": "hi"}]
    async with (
        ScriptedModel(rules, profile="openai").serve() as server,
        openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client,
    ):
        with pytest.raises(openai.BadRequestError, match=r"\[\] is too short - 'tools'"):
            await client.chat.completions.create(**body(user("x"), tools=[]))
        answer = await client.chat.completions.create(**body(user("x")))
        assert answer.choices[0].message.content == "hi"
        assert [exchange.refused_by for exchange in server.requests] == [
            "openai.tools_are_not_an_empty_list",
            None,
        ]
        assert server.refused == server.requests[:1]
        assert server.unmatched == []


async def test_a_profile_knows_the_model_of_an_azure_path() -> None:
    async with (
        ScriptedModel([{"answer": "hi"}], profile="azure").serve() as server,
        httpx.AsyncClient() as http,
    ):
        asked = body(user("x"), tools=[tool("a")], parallel_tool_calls=True)
        del asked["model"]
        answer = await http.post(
            f"{server.url}/openai/deployments/o3-mini/chat/completions", json=asked
        )
        assert answer.status_code == 400
        assert "not supported with this model" in answer.json()["error"]["message"]


async def test_a_signing_profile_signs_calls_and_wants_the_signature_back() -> None:
    rules = [{"when": {"last": "user"}, "answer": {"calls": [{"name": "find"}]}}, {"answer": "hi"}]
    async with (
        ScriptedModel(rules, profile="gemini_signed").serve() as server,
        httpx.AsyncClient(base_url=server.base_url) as http,
    ):
        first = (await _post(http, "x")).json()["choices"][0]["message"]
        assert first["tool_calls"][0]["extra_content"]["google"]["thought_signature"]
        history = [user("x"), first, result(first["tool_calls"][0]["id"])]
        assert (await http.post("/chat/completions", json=body(*history))).status_code == 200
        del first["tool_calls"][0]["extra_content"]
        refused = await http.post("/chat/completions", json=body(*history))
        assert "missing a thought_signature" in refused.json()["error"]["message"]


def test_an_unknown_profile_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="Profiles: lenient, openai"):
        ScriptedModel(RULES, profile="opnai")
