"""The host's own web application around a loaded assistant, and a user of each channel."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import socketio
from aiohttp import web

from tests.host.project import hosts_own_warnings

__all__ = ["Receiver", "receiving", "rest", "serving", "socket_user", "uttered"]

SECONDS = 20.0


@contextlib.asynccontextmanager
async def serving(agent: Any, port: int, *channels: Any) -> AsyncIterator[str]:
    """Serve the assistant on loopback while the block runs; gives the base URL."""
    from rasa.core.run import configure_app

    with hosts_own_warnings():
        app = configure_app(input_channels=list(channels), port=port)
        app.config.TOUCHUP = False  # rewrites the framework's code, possible once per process
        app.config.MOTD = False
        app.ctx.agent = agent
        server = await app.create_server(
            host="127.0.0.1", port=port, return_asyncio_server=True, access_log=False
        )
        assert server is not None
        await server.startup()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            await server.close()
            type(app).unregister_app(app)
            await _stop_timers()


async def _stop_timers() -> None:
    """End what the Socket.IO server leaves running: pings and its look for dead clients."""
    left = [task for task in asyncio.all_tasks() if "/engineio/" in _file(task)]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _file(task: asyncio.Task[Any]) -> str:
    return str(getattr(getattr(task.get_coro(), "cr_code", None), "co_filename", ""))


async def rest(
    url: str, text: str, *, stream: bool = False, break_in_after: int | None = None
) -> list[str]:
    """Say something over REST as `anna`; the texts of the answer, or its pieces.

    Args:
        url: Base URL of the application.
        text: What is said.
        stream: Whether the answer is asked for in pieces.
        break_in_after: After so many pieces the user breaks in.
    """
    query = "?stream=true" if stream else ""
    body = {"sender": "anna", "message": text}
    async with (
        asyncio.timeout(SECONDS),
        aiohttp.ClientSession() as session,
        session.post(f"{url}/webhooks/rest/webhook{query}", json=body) as response,
    ):
        assert response.status == 200
        if not stream:
            return [message["text"] for message in await response.json()]
        pieces: list[str] = []
        async for line in response.content:
            pieces.append(json.loads(line)["text"])
            if len(pieces) == break_in_after:
                place = f"{url}/webhooks/rest/cancel_background_tasks/anna"
                async with session.post(place) as cancelled:
                    assert await cancelled.json() == {"cancelled": True}
        return pieces


class Receiver:
    """A server that gets what the callback channel sends.

    Attributes:
        url: Where it is.
        texts: Texts in the order of their coming; a streamed one grows.
    """

    def __init__(self, url: str, on_text: Callable[[str], None]) -> None:
        self.url = url
        self.texts: list[str] = []
        self._on_text = on_text

    async def take(self, request: web.Request) -> web.Response:
        """Take one message or one piece of a stream."""
        message = await request.json()
        kind = message.get("type")
        if kind == "stream_start":
            self.texts.append("")
        elif kind == "stream_delta":
            self.texts[-1] += message["text"]
        elif kind == "stream_end":
            self._on_text(self.texts[-1])
        else:
            self.texts.append(message["text"])
            self._on_text(message["text"])
        return web.Response()


@contextlib.asynccontextmanager
async def receiving(port: int, on_text: Callable[[str], None]) -> AsyncIterator[Receiver]:
    """Receive callbacks while the block runs."""
    receiver = Receiver(f"http://127.0.0.1:{port}/bot", on_text)
    application = web.Application()
    application.router.add_post("/bot", receiver.take)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield receiver
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def socket_user(
    url: str, on_text: Callable[[str], None]
) -> AsyncIterator[tuple[socketio.AsyncClient, list[str]]]:
    """A Socket.IO client that is connected while the block runs, and the texts it got."""
    client = socketio.AsyncClient()
    texts: list[str] = []

    @client.on("stream_start")
    async def _start(_: Any) -> None:
        texts.append("")

    @client.on("stream_chunk")
    async def _chunk(data: dict[str, str]) -> None:
        texts[-1] += data["text"]

    @client.on("stream_end")
    async def _end(_: Any) -> None:
        on_text(texts[-1])

    @client.on("bot_uttered")
    async def _whole(data: dict[str, str]) -> None:
        texts.append(data["text"])
        on_text(data["text"])

    async with asyncio.timeout(SECONDS):
        await client.connect(url, transports=["websocket"])
    try:
        yield client, texts
    finally:
        await client.disconnect()


def uttered(tracker: Any) -> list[str]:
    """What the conversation has on record as said by the assistant, tools in `[…]`."""
    events = [e for e in tracker.events if e.type_name in {"bot", "mcp_tool_executed"}]
    return [e.text if e.type_name == "bot" else f"[{e.tool_name}]" for e in events]
