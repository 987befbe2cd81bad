"""Stands before the remote agent of the tests: breaks streams, falls silent, fails requests."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from tests.mcp_pool.mcp_server import Asgi, Receive, Scope, Send

if TYPE_CHECKING:
    from tests.a2a_client.remote import Remote

__all__ = ["SLOW_SECONDS", "Faulty"]

SLOW_SECONDS = 30.0


class Faulty:
    """Stands before the application and does to requests what the test wants."""

    def __init__(self, remote: Remote, app: Asgi) -> None:
        self._remote = remote
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        remote = self._remote
        headers = {key.decode(): value.decode() for key, value in scope["headers"]}
        remote.headers.append(headers)
        if not remote.knows(headers):
            await _answer(send, 401, {"error": "who are you?"})
        elif scope["path"] in remote.card_paths:
            await _answer(send, 200, remote.card_json())
        elif scope["path"].startswith("/.well-known"):
            await _answer(send, 404, {})
        else:
            await self._faulty(scope, receive, send)

    async def _faulty(self, scope: Scope, receive: Receive, send: Send) -> None:
        remote = self._remote
        event = await receive()
        body = event.get("body", b"")
        document = json.loads(body) if body.startswith(b"{") else {}
        method = document.get("method", scope["path"])
        if message := document.get("params", {}).get("message"):
            remote.sent.append(message)
            remote.configurations.append(document["params"].get("configuration", {}))
        if remote.silent:
            await _left(receive)
            return
        if remote.fail_next.get(method):
            await _answer(send, remote.fail_next[method].pop(0), {})
            return

        given = False

        async def again() -> Any:
            nonlocal given
            if not given:
                given = True
                return event
            return await receive()

        await self._app(scope, again, self._cutting(send) if "tream" in method else send)

    def _cutting(self, send: Send) -> Send:
        remote, events = self._remote, 0
        cut, silent = remote.cut_after, remote.silent_after
        remote.cut_after = remote.silent_after = None

        async def cutting(event: Any) -> None:
            nonlocal events
            if event["type"] == "http.response.body" and b"data:" in event.get("body", b""):
                events += 1
                if cut is not None and events > cut:
                    raise ConnectionError("cut")
                if silent is not None and events > silent:
                    await asyncio.sleep(SLOW_SECONDS)
            await send(event)

        return cutting


async def _left(receive: Receive) -> None:
    """Wait until the caller hangs up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _answer(send: Send, status: int, content: Any) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(content).encode()})
