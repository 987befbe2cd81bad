"""Splits a byte stream into the data of server-sent events (WHATWG HTML, 9.2).

Knows nothing about models.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

__all__ = ["event_data"]


async def event_data(blocks: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    """The data of each event, comments and other fields left out.

    Args:
        blocks: Bytes as they arrive, cut anywhere.
    """
    data: list[str] = []
    async for line in _lines(blocks):
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" ").decode("utf-8", "replace"))
        elif not line and data:
            yield "\n".join(data)
            data = []
    if data:
        yield "\n".join(data)


async def _lines(blocks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    rest = b""
    async for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield line.removesuffix(b"\r")
    if rest:
        yield rest
