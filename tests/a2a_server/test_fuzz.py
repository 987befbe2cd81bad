"""Whatever is sent, the server answers in the protocol and never with a fault of its own."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.a2a_server.serving import server

SECONDS = float(os.environ.get("A2A_FUZZ_SECONDS", "300"))
METHODS = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get",
    "tasks/pushNotificationConfig/list",
    "tasks/pushNotificationConfig/delete",
    "agent/getAuthenticatedExtendedCard",
]
PATHS = [
    "/",
    "/message:send",
    "/message:stream",
    "/tasks",
    "/tasks/x",
    "/tasks/x:cancel",
    "/tasks/x:subscribe",
    "/tasks/x/pushNotificationConfigs",
    "/tasks/x/pushNotificationConfigs/y",
    "/extendedAgentCard",
    "/v1/message:send",
    "/v1/message:stream",
    "/v1/tasks/x",
    "/v1/tasks/x:cancel",
    "/v1/tasks/x:subscribe",
    "/v1/tasks/x/pushNotificationConfigs",
    "/v1/card",
    "/nothing",
]
IDS = st.one_of(st.sampled_from(["", "a", "b", "m", "hello"]), st.text(max_size=300))
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), IDS)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=12,
)
TEXTS = st.one_of(st.sampled_from(["hello", "ask", "pieces", "boom", "background"]), IDS)
PARTS = st.one_of(
    st.fixed_dictionaries({"text": TEXTS}),
    st.fixed_dictionaries({"kind": st.just("text"), "text": TEXTS}),
    st.fixed_dictionaries({"data": JSON}),
    st.fixed_dictionaries({"kind": st.just("data"), "data": JSON}),
    st.fixed_dictionaries({"kind": st.just("file"), "file": JSON}),
    st.fixed_dictionaries({"raw": IDS}),
    JSON,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "messageId": IDS,
        "role": st.sampled_from(["ROLE_USER", "user", "agent", "ROLE_AGENT", "x", 7]),
        "parts": st.lists(PARTS, max_size=3),
        "contextId": IDS,
        "taskId": IDS,
        "metadata": JSON,
        "kind": st.just("message"),
        "extensions": JSON,
    },
)
PARAMS = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {},
        optional={
            "message": st.one_of(MESSAGES, JSON),
            "id": IDS,
            "taskId": IDS,
            "name": IDS,
            "url": st.one_of(IDS, st.just("http://192.0.2.1/")),
            "pageSize": st.integers(),
            "pageToken": IDS,
            "historyLength": st.integers(),
            "contextId": IDS,
            "status": LEAVES,
            "statusTimestampAfter": LEAVES,
            "tenant": IDS,
            "configuration": JSON,
            "metadata": JSON,
            "pushNotificationConfig": JSON,
        },
    ),
)
HEADERS = st.fixed_dictionaries(
    {},
    optional={
        "A2A-Version": st.sampled_from(["1.0", "0.3", "1.1", "9", "x", ""]),
        "A2A-Extensions": st.sampled_from(["", "a,b", "http://x"]),
        "Content-Type": st.sampled_from(
            ["application/json", "application/a2a+json", "text/plain", ""]
        ),
    },
)
RPC = st.fixed_dictionaries(
    {"jsonrpc": st.sampled_from(["2.0", "1.0"]), "method": st.sampled_from(METHODS)},
    optional={"id": LEAVES, "params": PARAMS},
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server in a thread of its own."""
    store = tmp_path_factory.mktemp("fuzz") / "s.db"
    found: list[str] = []
    ready, done = threading.Event(), threading.Event()

    async def main() -> None:
        async with server(str(store), push_notifications_enabled=True, grace=0.2) as served:
            found.append(served.url)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    assert ready.wait(30)
    yield found[0]
    done.set()
    thread.join(30)


def _check(http: httpx.Client, request: httpx.Request) -> None:
    response = http.send(request, stream=True)
    try:
        assert response.status_code < 500 or response.status_code == 503, response.read()
        kind = response.headers.get("content-type", "")
        if kind.startswith("text/event-stream"):
            # Streams of tasks that wait stay open: the first event is enough.
            for line in response.iter_lines():
                if line:
                    assert line.startswith(("data:", "event:", ":")), line
                    assert "Traceback" not in line
                    break
            return
        body = response.read().decode()
        assert "Traceback" not in body
        if kind.startswith("application/json"):
            error = json.loads(body)
            if isinstance(error, dict) and isinstance(error.get("error"), dict):
                assert error["error"].get("code") != -32603, body
    finally:
        response.close()


def _as_json(value: Any) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


def _fuzz(url: str, examples: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    quiet = settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )

    @quiet
    @given(call=RPC, headers=HEADERS)
    def rpc_calls(call: Any, headers: Any) -> None:
        _check(http, http.build_request("POST", url + "/", content=_as_json(call), headers=headers))

    @quiet
    @given(
        path=st.sampled_from(PATHS),
        method=st.sampled_from(["GET", "POST", "DELETE", "PUT"]),
        params=PARAMS,
        headers=HEADERS,
        query=st.dictionaries(
            st.sampled_from(["pageSize", "pageToken", "historyLength", "status", "x"]), IDS
        ),
    )
    def http_calls(path: str, method: str, params: Any, headers: Any, query: Any) -> None:
        content = _as_json(params) if method in ("POST", "PUT") else None
        _check(
            http,
            http.build_request(method, url + path, content=content, headers=headers, params=query),
        )

    @quiet
    @given(body=st.binary(max_size=200))
    def bytes_of_any_kind(body: bytes) -> None:
        _check(http, http.build_request("POST", url + "/", content=body))

    with httpx.Client(timeout=30) as http:
        while True:
            for calls in (rpc_calls, http_calls, bytes_of_any_kind):
                calls()
            if time.monotonic() > end:
                return


def test_no_request_is_answered_with_a_fault(url: str) -> None:
    _fuzz(url, 60, 0)


@pytest.mark.soak
@pytest.mark.timeout(int(SECONDS) + 120)
def test_no_request_of_five_minutes_is_answered_with_a_fault(url: str) -> None:
    _fuzz(url, 400, SECONDS)
