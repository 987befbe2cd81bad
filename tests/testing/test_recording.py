"""Record against the scripted model as provider, stop it, replay: the same answers."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.testing import (
    Cassette,
    ModelServer,
    RecordingModel,
    ReplayModel,
    ScriptedModel,
    ServedModel,
)
from rasa_react_ext.testing.connection import OpenConnections
from rasa_react_ext.testing.lifetime import Listener, Serving
from rasa_react_ext.testing.log import RequestLog
from tests.testing.bodies import body, called, result, tool, user

KEY = "sk-live-Ab3dEf6hIj9kLm2n"
PASSWORD = "hunter22"
COOKIE = "mysterious99"

RULES: list[dict[str, Any]] = [
    {
        "when": {"user": "price", "step": 1},
        "answer": {
            "text": "Let me look.",
            "calls": [{"name": "find", "arguments": {"q": "ACME", "most": 5}}, {"name": "news"}],
            "stream": {"chunk_chars": 3},
        },
    },
    {"when": {"tool": "find"}, "answer": "It is {{ result }}."},
    {
        "when": {"user": "limit"},
        "times": 1,
        "fault": {
            "status": 429,
            "headers": {"retry-after": 1, "set-cookie": f"session={COOKIE}"},
            "body": {"error": {"message": "slow down", "code": "rate_limit"}},
        },
    },
    {"when": {"user": "limit"}, "answer": "Now it works."},
    {"when": {"user": "page"}, "fault": {"status": 502, "body": "<html>bad gateway</html>"}},
    {"when": {"user": "cut"}, "fault": {"cut": {"after_chunks": 3, "answer": "A long story."}}},
    {"when": {"user": "hang"}, "fault": "hang"},
    {
        "when": {"user": "secret"},
        "answer": {
            "text": f"It is {KEY}.",
            "calls": [{"name": "log_in", "arguments": {"password": PASSWORD}}],
            "stream": {"chunk_chars": 4},
        },
    },
    {"when": {"user": "anyone"}, "answer": "Hello."},
]

PRICE = body(user("What is the price?"), tools=[tool("find")])
RESULT = body(*PRICE["messages"], called(("call_1", "find")), result("call_1", "12"), stream=True)
ASKED: list[dict[str, Any]] = [
    body(user("Is anyone there?")),
    PRICE,
    {**PRICE, "stream": True},
    {**RESULT, "stream_options": {"include_usage": True}},
    body(user("limit")),
    body(user("limit")),
    body(user("page")),
]
SECRETS: list[dict[str, Any]] = [
    body(user("Tell me the secret."), user=f"customer {KEY}"),
    body(user(f"Is the secret {KEY}?"), stream=True),
    body(user(f'secret: {{"password": "{PASSWORD}"}}'), api_key=PASSWORD),
]


@pytest.fixture
def provider() -> Iterator[ModelServer]:
    with ScriptedModel(RULES).serve() as server:
        yield server


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "tape"


Answer = tuple[int, str | None, str, bytes]


def _ask(
    server: ServedModel, asked: dict[str, Any], path: str = "/v1/chat/completions", key: str = KEY
) -> Answer:
    """Status, retry-after, kind and body of an answer; key and cookie are what clients send."""
    headers = {"authorization": f"Bearer {key}", "cookie": f"crumbs={COOKIE}"}
    with httpx.Client(trust_env=False, timeout=10) as client:
        answer = client.post(f"{server.url}{path}", json=asked, headers=headers)
    told = answer.headers
    return answer.status_code, told.get("retry-after"), told["content-type"], answer.content


def _record(provider: ModelServer, tape: Path, *asked: dict[str, Any], **more: Any) -> list[Answer]:
    with RecordingModel(tape, provider.base_url, **more).serve() as recording:
        return [_ask(recording, one) for one in asked]


def _text(tape: Path) -> str:
    return "\n".join(file.read_text() for file in sorted(tape.iterdir()))


def _files(tape: Path) -> list[str]:
    return [file.name for file in tape.glob("*")]


def _same(one: Answer, other: Answer) -> bool:
    """Whether two answers say the same; JSON may be written in two ways, the rest may not."""
    if one[2] == "application/json":
        one, other = (*one[:3], json.loads(one[3])), (*other[:3], json.loads(other[3]))
    return one == other


def test_answers_are_replayed_as_the_provider_gave_them(tape: Path) -> None:
    with ScriptedModel(RULES).serve() as provider:
        recorded = _record(provider, tape, *ASKED)
    assert [status for status, *_ in recorded] == [200, 200, 200, 200, 429, 200, 502]
    with ReplayModel(tape).serve() as replay:
        replayed = [_ask(replay, asked, key="another key") for asked in ASKED]
        assert replay.unmatched == []
        assert [exchange.rule for exchange in replay.requests] == sorted(Cassette(tape).entries)
    assert [_same(*pair) for pair in zip(recorded, replayed, strict=True)] == [True] * len(ASKED)
    assert replayed[4][1] == "1"
    assert replayed[2][2].startswith("text/event-stream")


def test_while_recording_the_client_gets_what_the_provider_said(
    provider: ModelServer, tape: Path
) -> None:
    asked = [PRICE, {**PRICE, "stream": True}, SECRETS[0]]
    direct = [_ask(provider, one) for one in asked]
    provider.use(RULES)
    provider.clear()
    recorded = _record(provider, tape, *asked)
    assert [_timeless(answer) for answer in recorded] == [_timeless(answer) for answer in direct]
    assert KEY.encode() in recorded[2][3]


def _timeless(answer: Answer) -> Answer:
    return (*answer[:3], re.sub(rb'"created":\d+', b"", answer[3]))


async def test_a_stream_is_passed_on_before_it_is_over(tape: Path) -> None:
    slow = [{"answer": {"text": "A story.", "stream": {"interval_seconds": 30}}}]
    async with (
        ScriptedModel(slow).serve() as provider,
        RecordingModel(tape, provider.base_url).serve() as recording,
        httpx.AsyncClient(trust_env=False, timeout=10) as client,
        client.stream(
            "POST", f"{recording.base_url}/chat/completions", json=body(user("x"), stream=True)
        ) as answer,
    ):
        first = await anext(answer.aiter_bytes())
        assert first.startswith(b"data: ")
    assert _files(tape) == []


def test_a_stream_is_stored_with_its_chunks(provider: ModelServer, tape: Path) -> None:
    _record(provider, tape, {**PRICE, "stream": True})
    [entry] = Cassette(tape).entries.values()
    assert entry.answer.chunks is not None
    assert len(entry.answer.chunks) > 10
    assert all(chunk.startswith("data: ") for chunk in entry.answer.chunks)
    assert entry.answer.chunks[-1] == "data: [DONE]\n\n"


def test_no_secret_gets_into_the_cassette_and_the_rest_replays(
    provider: ModelServer, tape: Path
) -> None:
    more = {"secrets": ["deep thought"]}
    asked = [*SECRETS, body(user("anyone: deep thought"))]
    told = _record(provider, tape, *asked, **more)
    assert PASSWORD.encode() in told[0][3]
    with RecordingModel(tape, provider.base_url, add=True).serve() as recording:
        _ask(recording, body(user("anyone")), f"/v1/chat/completions?api-key={PASSWORD}&v=2")
    assert any(file.name.startswith("005") for file in tape.iterdir())
    for secret in (KEY, PASSWORD, COOKIE, "deep thought"):
        assert secret not in _text(tape)
    assert "api-key=<removed>&v=2" in _text(tape)
    with ReplayModel(tape, **more).serve() as replay:
        answers = [_ask(replay, one) for one in asked]
    assert [status for status, *_ in answers] == [200] * 4
    message = json.loads(answers[0][3])["choices"][0]["message"]
    assert message["content"] == "It is <removed>."
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {
        "password": "<removed>"
    }


def test_a_key_of_the_recorder_reaches_the_provider_in_place_of_the_clients(
    provider: ModelServer, tape: Path
) -> None:
    key = "the-real-key-1"
    _record(provider, tape, body(user(f"anyone with {key}?")), api_key=key)
    assert provider.last.headers["authorization"] == f"Bearer {key}"
    assert key not in _text(tape)


async def test_the_sdk_of_the_provider_works_against_a_cassette(tape: Path) -> None:
    async def ask(server: ServedModel) -> list[Any]:
        async with openai.AsyncOpenAI(
            base_url=server.base_url,
            api_key=KEY,
            http_client=httpx.AsyncClient(trust_env=False, timeout=30),
        ) as client:
            stream = await client.chat.completions.create(**{**PRICE, "stream": True})
            return [chunk.choices[0].delta.model_dump() async for chunk in stream]

    async with (
        ScriptedModel(RULES).serve() as provider,
        RecordingModel(tape, provider.base_url).serve() as recording,
    ):
        recorded = await ask(recording)
    async with ReplayModel(tape).serve() as replay:
        assert await ask(replay) == recorded


@pytest.mark.parametrize("streams", [True, False])
def test_a_dropped_answer_is_recorded_and_replayed_as_dropped(
    provider: ModelServer, tape: Path, streams: bool
) -> None:
    asked = body(user("cut"), stream=streams)
    with (
        RecordingModel(tape, provider.base_url).serve() as recording,
        pytest.raises(httpx.RemoteProtocolError),
    ):
        _ask(recording, asked)
    with ReplayModel(tape).serve() as replay, pytest.raises(httpx.RemoteProtocolError):
        _ask(replay, asked)


async def test_an_answer_that_nobody_waited_for_is_not_recorded(tape: Path) -> None:
    async with (
        ScriptedModel(RULES).serve() as provider,
        RecordingModel(tape, provider.base_url).serve() as recording,
        httpx.AsyncClient(trust_env=False, timeout=30) as client,
    ):
        url = f"{recording.base_url}/chat/completions"
        asking = asyncio.create_task(client.post(url, json=body(user("hang"))))
        await provider.wait_until(lambda server: server.request_count == 1)
        asking.cancel()
        await recording.wait_until(lambda server: server.last.client_left)
        await provider.wait_until(lambda server: server.last.client_left)
    assert _files(tape) == []


def test_a_provider_that_cannot_be_reached_is_named_and_not_recorded(tape: Path) -> None:
    with ScriptedModel(RULES).serve() as provider:
        url = provider.base_url
    with RecordingModel(tape, url).serve() as recording:
        status, _, _, told = _ask(recording, ASKED[0])
        assert [exchange.status for exchange in recording.unmatched] == [502]
    assert status == 502
    assert json.loads(told)["error"]["code"] == "upstream_unreachable"
    assert "127.0.0.1 cannot be reached" in json.loads(told)["error"]["message"]
    assert _files(tape) == []


def test_a_miss_is_an_error_that_shows_the_difference(provider: ModelServer, tape: Path) -> None:
    _record(provider, tape, PRICE)
    with ReplayModel(tape).serve() as replay:
        status, _, _, told = _ask(replay, body(user("What is the cost?"), tools=[tool("find")]))
        assert [exchange.number for exchange in replay.unmatched] == [1]
    assert status == 400
    error = json.loads(told)["error"]
    assert error["code"] == "no_recorded_answer"
    assert "-messages[1].content: What is the price?\n" in error["message"]
    assert "+messages[1].content: What is the cost?\n" in error["message"]


def test_with_an_update_only_what_is_missing_is_asked_and_it_is_stored(
    provider: ModelServer, tape: Path
) -> None:
    _record(provider, tape, PRICE)
    provider.clear()
    with ReplayModel(tape, update=provider.base_url).serve() as replay:
        for _ in range(2):
            assert [_ask(replay, asked)[0] for asked in (PRICE, ASKED[0])] == [200, 200]
    assert provider.request_count == 1
    assert len(Cassette(tape).entries) == 2
    with ReplayModel(tape).serve() as replay:
        assert _ask(replay, ASKED[0])[0] == 200


def test_each_server_plays_from_the_beginning_and_sees_what_was_added(
    provider: ModelServer, tape: Path
) -> None:
    _record(provider, tape, ASKED[4], ASKED[5])
    model = ReplayModel(tape)
    for _ in range(2):
        with model.serve() as replay:
            assert [_ask(replay, ASKED[4])[0] for _ in range(3)] == [429, 200, 200]


def test_a_recording_is_not_mixed_with_an_older_one_by_accident(
    provider: ModelServer, tape: Path
) -> None:
    _record(provider, tape, PRICE)
    with pytest.raises(ConfigurationError, match="holds recorded exchanges already"):
        RecordingModel(tape, provider.base_url)
    _record(provider, tape, ASKED[0], add=True)
    assert [name[:4] for name in Cassette(tape).entries] == ["001-", "002-"]


@pytest.mark.parametrize(
    "url", ["api.openai.com/v1", "ftp://x.example", "", "http://", "https://a b"]
)
def test_an_upstream_that_is_no_url_is_refused(tape: Path, url: str) -> None:
    with pytest.raises(ConfigurationError, match="no base URL"):
        RecordingModel(tape, url)


def test_an_empty_cassette_cannot_be_replayed(tape: Path) -> None:
    with pytest.raises(ConfigurationError, match="no recorded exchange"):
        ReplayModel(tape)


def _other_api() -> Serving[ServedModel]:
    """A provider with other paths: embeddings that come packed, a list of models, an audio file."""

    async def embeddings(request: Request) -> Response:
        assert await request.json() == {"input": "shoes", "model": "small"}
        packed = gzip.compress(b'{"data": [{"embedding": [0.5]}]}')
        headers = {"content-encoding": "gzip"}
        return Response(packed, media_type="application/json", headers=headers)

    async def audio(_: Request) -> Response:
        return Response(b"\xff\xfb\x00", media_type="audio/mpeg")

    async def models(request: Request) -> Response:
        return Response(json.dumps({"asked": str(request.query_params)}))

    routes = [
        Route("/openai/embeddings", embeddings, methods=["POST"]),
        Route("/openai/audio/speech", audio, methods=["POST"]),
        Route("/openai/models", models),
    ]
    log = RequestLog(keep=10)
    connections = OpenConnections()
    listener = Listener(Starlette(routes=routes), connections, 0)
    return Serving(listener, log, lambda url: ServedModel(log, url))


@pytest.mark.parametrize("prefix", ["/v1", ""])
def test_every_path_below_the_base_url_is_recorded(tape: Path, prefix: str) -> None:
    def ask(server: ServedModel) -> list[tuple[int, bytes]]:
        with httpx.Client(trust_env=False, base_url=f"{server.url}{prefix}") as client:
            answers = [
                client.post("/embeddings", json={"input": "shoes", "model": "small"}),
                client.post("/audio/speech", content=b"\xff\xff"),
                client.get("/models?limit=2"),
            ]
        return [(answer.status_code, answer.content) for answer in answers]

    with _other_api() as provider, RecordingModel(tape, f"{provider.url}/openai/").serve() as model:
        recorded = ask(model)
    assert recorded[0] == (200, b'{"data": [{"embedding": [0.5]}]}')
    assert recorded[2] == (200, b'{"asked": "limit=2"}')
    with ReplayModel(tape).serve() as model:
        replayed = ask(model)
    assert json.loads(replayed[0][1]) == json.loads(recorded[0][1])
    assert replayed[1] == recorded[1] == (200, b"\xff\xfb\x00")
