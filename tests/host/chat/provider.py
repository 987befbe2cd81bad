"""A provider that answers as a test says, and what it may say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from rasa_react_ext.engine.message import ModelRequest

Reply = Callable[["Provider", web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


TOOL = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Finds.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}
CALL = {
    "index": 0,
    "id": "a",
    "type": "function",
    "function": {"name": "find", "arguments": '{"q": 1,}'},
}


def asking(**more: Any) -> ModelRequest:
    """A small request."""
    said = [{"role": "user", "content": "hi"}]
    return ModelRequest(**{"messages": said, "timeout_seconds": 5.0, **more})


class Provider:
    """Answers every path with `reply` and remembers what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.reply: Reply = whole(text="hello")
        self.bodies: list[dict[str, Any]] = []
        self.requests: list[web.Request] = []
        self.connections: set[object] = set()
        self.busy = self.peak = 0
        self.gone = asyncio.Event()
        self.arrived = asyncio.Event()
        self.release = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        self.bodies.append(json.loads(await request.read()))
        self.connections.add(request.transport)
        self.busy += 1
        self.peak = max(self.peak, self.busy)
        self.arrived.set()
        try:
            return await self.reply(self, request, self.bodies[-1])
        except asyncio.CancelledError:
            self.gone.set()
            raise
        finally:
            self.busy -= 1


def completion(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, **more}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def whole(text: str | None = None, finish_reason: str = "stop", **message: Any) -> Reply:
    """Answers with one body, whatever was asked."""

    async def reply(_: Provider, __: web.Request, ___: dict[str, Any]) -> web.StreamResponse:
        said = {"role": "assistant", "content": text, **message}
        return web.json_response(completion(said, finish_reason=finish_reason))

    return reply


def refused(status: int, body: Any, **headers: str) -> Reply:
    """Answers with an error."""

    async def reply(_: Provider, __: web.Request, ___: dict[str, Any]) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, headers=headers)

    return reply


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "served-model",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }


USAGE = {
    **chunk({}),
    "choices": [],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
}


def streamed(*chunks: Any, done: bool = True) -> Reply:
    """Answers with server-sent events; a string is written as it is."""

    async def reply(_: Provider, request: web.Request, __: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for item in chunks:
            raw = item if isinstance(item, str) else f"data: {json.dumps(item)}\n\n"
            await response.write(raw.encode())
        if done:
            await response.write(b"data: [DONE]\n\n")
        return response

    return reply


def in_turn(*replies: Reply) -> Reply:
    """Answers each request with the next reply; the last one stays."""
    left = list(replies)

    async def reply(
        provider: Provider, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        now = left.pop(0) if len(left) > 1 else left[0]
        return await now(provider, request, body)

    return reply


def refusing(word: str, then: Reply) -> Reply:
    """Refuses requests that carry a parameter, answers the others."""

    async def reply(
        provider: Provider, request: web.Request, body: dict[str, Any]
    ) -> web.StreamResponse:
        if body.get(word):
            text = json.dumps({"error": {"message": f"Unknown parameter: {word}"}})
            return web.Response(status=400, text=text)
        return await then(provider, request, body)

    return reply


async def stalled(provider: Provider, _: web.Request, __: dict[str, Any]) -> web.StreamResponse:
    """Answers only when the test releases it."""
    await provider.release.wait()
    return web.json_response(completion({"role": "assistant", "content": "late"}))


async def stalled_midway(
    provider: Provider, request: web.Request, _: dict[str, Any]
) -> web.StreamResponse:
    """Streams one delta and goes on only when the test releases it."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(f"data: {json.dumps(chunk({'content': 'Hel'}))}\n\n".encode())
    await provider.release.wait()
    return response
