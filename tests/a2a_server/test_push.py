"""Pushes reach subscribers in order, again after a failure, and public addresses only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from a2a.types import TaskState
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rasa_react_ext.a2a_server import address, delivery
from rasa_react_ext.a2a_server.address import AddressPolicy, RefusedAddressError
from rasa_react_ext.a2a_wire import read_push
from tests.a2a_server.serving import rpc, server
from tests.a2a_server.test_once import body
from tests.mcp_pool.mcp_server import serving

PUSH: dict[str, Any] = {
    "push_notifications_enabled": True,
    "push_notification_allowed_hosts": ["127.0.0.1"],
    "push_allow_private_addresses": True,
}


@dataclass
class Inbox:
    """A subscriber: what it got, and what it answers next."""

    url: str = ""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    redirected: int = 0

    async def states(self) -> list[int]:
        """The states that were pushed, once the turn has ended."""
        states: list[int] = []
        async with asyncio.timeout(30):
            while not states or states[-1] == TaskState.TASK_STATE_WORKING:
                await asyncio.sleep(0.02)
                states = [read_push(sent).task.status.state for _, sent in self.got]
        return states


@asynccontextmanager
async def inbox() -> AsyncIterator[Inbox]:
    box = Inbox()

    async def hook(request: Request) -> Response:
        sent = await request.body()
        status = box.answers.pop(0) if box.answers else 204
        if status == 204:
            box.got.append((dict(request.headers), sent))
        if status == 307:
            return RedirectResponse("/other", 307)
        return Response(status_code=status)

    async def other(request: Request) -> Response:
        box.redirected += 1
        return Response(status_code=204)

    routes = [Route("/hook", hook, methods=["POST"]), Route("/other", other, methods=["POST"])]
    with serving(lambda: Starlette(routes=routes)) as served:
        box.url = served.url.removesuffix("/mcp") + "/hook"
        yield box


def config(box: Inbox, **more: Any) -> dict[str, Any]:
    return {"taskPushNotificationConfig": {"url": box.url, "token": "t-1", **more}}


async def test_pushes_come_in_order_with_token_and_credentials(store: str) -> None:
    async with inbox() as box, server(store, **PUSH) as served:
        given = config(box, authentication={"scheme": "Bearer", "credentials": "abc"})
        params = {
            **body("pieces", "m", contextId="c", metadata={"sender_id": "x"}),
            "configuration": given,
        }
        await rpc(served.url, "SendMessage", params)
        assert (await box.states())[-3:] == [2, 2, 3]

        tasks = [read_push(sent).task for _, sent in box.got]
        assert all(task.metadata["sender_id"] == "x" for task in tasks)
        headers = box.got[0][0]
        assert headers["x-a2a-notification-token"] == "t-1"
        assert headers["authorization"] == "Bearer abc"


async def test_a_subscriber_of_the_older_protocol_gets_its_form(store: str) -> None:
    async with inbox() as box, server(store, **PUSH) as served:
        said = {"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
        params = {"message": said, "configuration": {"pushNotificationConfig": {"url": box.url}}}
        await rpc(served.url, "message/send", params, version=None)
        await box.states()

        assert b'"kind": "task"' in box.got[-1][1]
        assert read_push(box.got[-1][1]).task.status.state == 3


async def test_a_failed_push_is_repeated_before_the_next(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "LONGEST_PAUSE_SECONDS", 0.05)
    async with inbox() as box, server(store, **PUSH) as served:
        box.answers = [500, 503, 204, 500]
        params = {**body("pieces", "m", contextId="c"), "configuration": config(box)}
        await rpc(served.url, "SendMessage", params)
        states = await box.states()

        assert states[-3:] == [2, 2, 3]
        assert sorted(states) == states


@pytest.mark.parametrize("answer", [500, 307, 410])
async def test_a_push_that_never_succeeds_becomes_a_dead_letter(
    store: str, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    monkeypatch.setattr(delivery, "LONGEST_PAUSE_SECONDS", 0.02)
    async with inbox() as box, server(store, push_attempts=2, **PUSH) as served:
        box.answers = [answer] * 100
        params = {**body("hello", "m", contextId="c"), "configuration": config(box)}
        await rpc(served.url, "SendMessage", params)
        counts = await served.service.counts()
        async with asyncio.timeout(30):
            while counts["outbox_waiting"] or not counts["outbox_dead"]:
                await asyncio.sleep(0.05)
                counts = await served.service.counts()
        assert box.redirected == 0


async def test_subscriptions_are_made_read_listed_and_ended(store: str) -> None:
    async with inbox() as box, server(store, **PUSH) as served:
        _, asked = await rpc(served.url, "SendMessage", body("ask", "m", contextId="c"))
        task_id = asked["result"]["task"]["id"]
        one = {"taskId": task_id, "id": "p1", "url": box.url}
        _, made = await rpc(served.url, "CreateTaskPushNotificationConfig", one)
        _, got = await rpc(
            served.url, "GetTaskPushNotificationConfig", {"taskId": task_id, "id": "p1"}
        )
        _, listed = await rpc(served.url, "ListTaskPushNotificationConfigs", {"taskId": task_id})
        await rpc(served.url, "SendMessage", body("ask", "m2", taskId=task_id))
        await box.states()
        await rpc(served.url, "DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": "p1"})
        _, empty = await rpc(served.url, "ListTaskPushNotificationConfigs", {"taskId": task_id})

        assert made["result"] == got["result"] == listed["result"]["configs"][0]
        assert empty["result"].get("configs", []) == []


async def test_credentials_are_not_stored_in_the_clear_where_a_key_is_set(tmp_path: Any) -> None:
    from cryptography.fernet import Fernet

    store = tmp_path / "s.db"
    key = Fernet.generate_key().decode()
    async with inbox() as box, server(str(store), encryption_key=key, **PUSH) as served:
        given = config(box, authentication={"scheme": "Bearer", "credentials": "very-secret"})
        params = {**body("ask", "m", contextId="c"), "configuration": given}
        await rpc(served.url, "SendMessage", params)
        await box.states()
        assert box.got[0][0]["authorization"] == "Bearer very-secret"
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("s.db*"))
    assert b"very-secret" not in stored


REFUSED = [
    "http://169.254.169.254/",
    "http://127.0.0.1:6379",
    "http://[::1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://[::ffff:127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://10.0.0.1/",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
    "http://localhost/",
    "http://a.localhost./",
    "ftp://example.com/",
    "file:///etc/passwd",
    "http://user:pw@192.0.2.1/",
    "http:///x",
    "http://[bad/",
    "",
]


@pytest.mark.parametrize("url", REFUSED)
async def test_b92_addresses_that_are_not_public_are_refused_at_registration(
    tmp_path: Any, url: str
) -> None:
    async with server(str(tmp_path / "s.db"), push_notifications_enabled=True) as served:
        given = {"taskPushNotificationConfig": {"url": url}}
        _, inline = await rpc(
            served.url, "SendMessage", {**body("ask", "m", contextId="c"), "configuration": given}
        )
        assert served.bot.runs == []
        _, asked = await rpc(served.url, "SendMessage", body("ask", "m", contextId="c"))
        one = {"taskId": asked["result"]["task"]["id"], "id": "p", "url": url}
        _, own = await rpc(served.url, "CreateTaskPushNotificationConfig", one)

        assert inline["error"]["code"] == own["error"]["code"] == -32602


async def test_b92_a_host_off_the_allow_list_is_refused() -> None:
    policy = AddressPolicy(["example.com"], private=True)
    assert policy.check_form("https://hooks.example.com./x") == "hooks.example.com"
    for url in ("https://badexample.com/", "https://example.com.evil.org/"):
        with pytest.raises(RefusedAddressError, match="allow-list"):
            policy.check_form(url)


async def test_b92_a_name_that_changes_its_address_is_refused_when_connecting(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At registration the name is public; at the connection it points inside."""
    answers = ["192.88.99.200"] * 2
    loop = asyncio.get_running_loop()
    real = loop.getaddrinfo

    async def lookup(host: Any, port: Any, **more: Any) -> Any:
        if host != "rebound.example":
            return await real(host, port, **more)
        found = answers.pop(0) if answers else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (found, port))]

    monkeypatch.setattr(loop, "getaddrinfo", lookup)
    monkeypatch.setattr(AddressPolicy, "_is_allowed", lambda self, text: text != "127.0.0.1")
    async with inbox() as box, server(store, push_notifications_enabled=True) as served:
        port = box.url.split(":")[2].split("/")[0]
        given = {"taskPushNotificationConfig": {"url": f"http://rebound.example:{port}/hook"}}
        params = {**body("hello", "m", contextId="c"), "configuration": given}
        _, sent = await rpc(served.url, "SendMessage", params)
        assert "result" in sent
        async with asyncio.timeout(30):
            while (await served.service.counts())["outbox_dead"] < 1:
                await asyncio.sleep(0.05)
        assert box.got == []


def test_b92_the_policy_unwraps_what_ipv6_hides() -> None:
    policy = AddressPolicy(None)
    assert not policy._is_allowed("::ffff:10.0.0.1")
    assert not policy._is_allowed("2002:7f00:1::")
    assert policy._is_allowed("2606:4700:4700::1111")
    assert policy._is_allowed("::ffff:8.8.8.8")
    assert address.RESOLVE_SECONDS > 0


async def test_pushes_are_refused_where_they_are_off(tmp_path: Any) -> None:
    async with server(str(tmp_path / "s.db")) as served:
        given = {"taskPushNotificationConfig": {"url": "http://192.0.2.1/"}}
        _, inline = await rpc(
            served.url, "SendMessage", {**body("ask", "m"), "configuration": given}
        )
        _, listed = await rpc(served.url, "ListTaskPushNotificationConfigs", {"taskId": "x"})
        assert inline["error"]["code"] == listed["error"]["code"] == -32003
        assert served.bot.runs == []
