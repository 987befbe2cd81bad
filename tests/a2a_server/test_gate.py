"""Bad input gets a protocol error with a code, before anything runs and without inner texts."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx
import pytest

from tests.a2a_server.serving import rpc, server
from tests.a2a_server.test_once import body

V1 = {"A2A-Version": "1.0"}
LONE = (
    '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"\\ud800"}}}'
)


@pytest.mark.parametrize(
    ("sent", "headers", "status", "code"),
    [
        ("", V1, 400, -32700),
        ("{", V1, 400, -32700),
        (b"\xff\xfe", V1, 400, -32700),
        ("[" * 100_000, V1, 400, -32700),
        ('{"a": NaN}', V1, 400, -32700),
        ('{"a": 1e999}', V1, 400, -32700),
        (LONE, V1, 400, -32700),
        ("[]", V1, 200, -32600),
        ('{"jsonrpc":"1.0","id":1,"method":"GetTask"}', V1, 200, -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"Nothing","params":{}}', V1, 200, -32601),
        ('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}', V1, 200, -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}', V1, 200, -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}', {}, 200, -32009),
        (
            '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}',
            {"A2A-Version": "9.0"},
            200,
            -32009,
        ),
        ('{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}', {}, 200, -32001),
        ('{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}', V1, 200, -32009),
        ('{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}', {}, 200, -32600),
    ],
)
async def test_what_is_no_request_is_refused_with_its_code(
    tmp_path: Any,
    capfd: pytest.CaptureFixture[str],
    sent: str | bytes,
    headers: dict[str, str],
    status: int,
    code: int,
) -> None:
    async with server(str(tmp_path / "s.db")) as served, httpx.AsyncClient() as http:
        response = await http.post(
            served.url + "/", content=sent, headers={"Content-Type": "application/json", **headers}
        )
        assert (response.status_code, response.json()["error"]["code"]) == (status, code)
        assert "Traceback" not in response.text + capfd.readouterr().err
        assert served.bot.runs == []


MESSAGES: list[tuple[dict[str, Any], int]] = [
    ({"parts": []}, -32602),
    ({"parts": [{}]}, -32602),
    ({"parts": [{"text": "  "}]}, -32602),
    ({"parts": [{"data": {"a": 1}}]}, -32602),
    ({"parts": [{"url": "http://x/y.png"}, {"text": "hello"}]}, -32005),
    ({"parts": [{"raw": "AAAA"}]}, -32005),
    ({"messageId": ""}, -32602),
    ({"messageId": "x" * 300}, -32602),
    ({"messageId": "a\x00b"}, -32602),
    ({"contextId": "x" * 300}, -32602),
    ({"contextId": "a\x00b"}, -32602),
    ({"taskId": "nothing"}, -32001),
    ({"taskId": "x" * 300}, -32602),
    ({"role": "ROLE_AGENT"}, -32602),
    ({"role": 99}, -32602),
]


@pytest.mark.parametrize(("changed", "code"), MESSAGES)
@pytest.mark.parametrize("method", ["SendMessage", "SendStreamingMessage"])
async def test_an_invalid_message_is_refused_with_its_code(
    tmp_path: Any, changed: dict[str, Any], code: int, method: str
) -> None:
    async with server(str(tmp_path / "s.db")) as served:
        said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}], **changed}
        status, answer = await rpc(served.url, method, {"message": said})

        assert (status, answer["error"]["code"]) == (200, code)
        assert served.bot.runs == []


async def test_a_context_id_that_is_not_the_tasks_is_refused(tmp_path: Any) -> None:
    async with server(str(tmp_path / "s.db")) as served:
        _, asked = await rpc(served.url, "SendMessage", body("ask", "m", contextId="c"))
        task_id = asked["result"]["task"]["id"]
        _, answer = await rpc(
            served.url, "SendMessage", body("hello", "m2", contextId="d", taskId=task_id)
        )
        assert answer["error"]["code"] == -32602


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
async def test_a_body_that_is_too_large_is_refused_while_it_comes(
    tmp_path: Any, chunked: bool
) -> None:
    async def pieces() -> Any:
        for _ in range(64):
            yield b"x" * 65536

    async with (
        server(str(tmp_path / "s.db"), max_body_bytes=10_000) as served,
        httpx.AsyncClient() as http,
    ):
        content = pieces() if chunked else b"x" * 20_000
        response = await http.post(
            served.url + "/", content=content, headers={"Content-Type": "application/json", **V1}
        )
        assert response.status_code == 413


async def test_a_body_of_another_kind_is_refused(tmp_path: Any) -> None:
    async with server(str(tmp_path / "s.db")) as served, httpx.AsyncClient() as http:
        response = await http.post(
            served.url + "/message:send",
            content="a=b",
            headers={"Content-Type": "text/plain", **V1},
        )
        assert (response.status_code, response.json()["error"]["code"]) == (415, -32600)


async def test_each_caller_has_a_rate_of_its_own(tmp_path: Any) -> None:
    auth = {"api_key": {"keys": {"anna": "key-a", "bert": "key-b"}}}
    async with server(str(tmp_path / "s.db"), auth=auth, rate_limit_per_minute=3) as served:
        statuses = [
            (await rpc(served.url, "ListTasks", {}, headers={"X-API-Key": key}))[0]
            for key in ["key-a"] * 5 + ["key-b"] * 2
        ]
        assert statuses == [200, 200, 200, 429, 429, 200, 200]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/message:send", 405),
        ("GET", "/tasks/unknown", 404),
        ("POST", "/tasks/unknown:cancel", 404),
        ("POST", "/tasks/unknown:subscribe", 404),
        ("GET", "/tasks?pageToken=nonsense", 400),
        ("GET", "/tasks?pageSize=1000", 400),
        ("GET", "/tasks?pageSize=x", 400),
        ("GET", "/nothing", 404),
        ("GET", "/extendedAgentCard", 400),
        ("POST", "/message:send", 400),
        ("DELETE", "/tasks/x/pushNotificationConfigs/y", 400),
    ],
)
async def test_http_json_errors_have_the_protocols_status(
    tmp_path: Any, method: str, path: str, status: int
) -> None:
    async with server(str(tmp_path / "s.db")) as served, httpx.AsyncClient() as http:
        content = b"{}" if method == "POST" else None
        response = await http.request(method, served.url + path, headers=V1, content=content)

        assert response.status_code == status, response.text
        assert json.loads(response.text)["error"]["code"] == status


async def test_health_is_public_and_its_numbers_are_for_callers(tmp_path: Any) -> None:
    auth = {"api_key": {"keys": {"anna": "key-a"}}}
    async with server(str(tmp_path / "s.db"), auth=auth) as served, httpx.AsyncClient() as http:
        public = await http.get(served.url + "/a2a/health")
        known = await http.get(served.url + "/a2a/health", headers={"X-API-Key": "key-a"})
        hidden = await http.get(served.url + "/a2a/metrics")
        metrics = await http.get(served.url + "/a2a/metrics", headers={"X-API-Key": "key-a"})

    assert public.json() == {"status": "ok"}
    assert known.json()["open_contexts"] == 0
    assert hidden.status_code == 401
    assert "rasa_react_ext_a2a_server_open_turns 0" in metrics.text


async def test_a_store_that_is_gone_makes_the_server_unhealthy(tmp_path: Any) -> None:
    async with server(str(tmp_path / "s.db")) as served, httpx.AsyncClient(timeout=30) as http:
        assert (await http.get(served.url + "/a2a/health")).status_code == 200
        await anyio.to_thread.run_sync(_drop_tables, tmp_path / "s.db")
        gone = await http.get(served.url + "/a2a/health")
        _, refused = await rpc(served.url, "SendMessage", body("hello", "m"))

    assert (gone.status_code, gone.json()) == (503, {"status": "store unreachable"})
    assert refused["error"] == {
        "code": -32603,
        "message": "Internal error",
        "data": refused["error"]["data"],
    }
    assert "sqlite" not in str(refused).lower()


async def test_a_database_that_refuses_connections_makes_the_server_unhealthy() -> None:
    async with (
        server("postgresql://root@127.0.0.1:1/x") as served,
        httpx.AsyncClient(timeout=30) as http,
    ):
        answers = [await http.get(f"{served.url}/a2a/{name}") for name in ("health", "metrics")]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert answers[0].json() == {"status": "store unreachable"}


def _drop_tables(file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file)) as store:
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'r%'"
        for (table,) in store.execute(names).fetchall():
            store.execute(f'DROP TABLE IF EXISTS "{table}"')
        store.commit()
