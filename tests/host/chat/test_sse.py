"""Server-sent events are split the same wherever the bytes are cut."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from rasa_react_ext.host.chat.sse import event_data

STREAM = (
    b": keep-alive\r\n\r\n"
    b'event: message\r\ndata: {"a": "\xc3\xa9"}\r\n\r\n'
    b"data:two\ndata: lines\n\n"
    b"id: 7\n\n"
    b"data: [DONE]"
)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
async def test_events_survive_any_cut(size: int) -> None:
    async def blocks() -> AsyncIterator[bytes]:
        for at in range(0, len(STREAM), size):
            yield STREAM[at : at + size]

    events = [data async for data in event_data(blocks())]
    assert events == ['{"a": "é"}', "two\nlines", "[DONE]"]
