"""Server-sent events: bytes in, events out (WHATWG HTML, section 9.2).

A pure decoder; it opens nothing and knows nothing of MCP.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from dataclasses import dataclass

__all__ = ["Decoder", "Event", "TooLargeError", "events"]

_LINE_END = re.compile(rb"\r\n|\n|\r")


class TooLargeError(ValueError):
    """One event is larger than is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One dispatched event.

    Attributes:
        name: Event type, `message` when the server gave none.
        data: Data lines joined with line feeds; empty for a priming event.
        id: Last event id in force, or empty.
        retry_ms: Reconnection delay sent with this event, in milliseconds.
    """

    name: str = "message"
    data: str = ""
    id: str = ""
    retry_ms: int | None = None


class Decoder:
    """Turns chunks of bytes into events; keeps what is incomplete.

    Args:
        max_bytes: Most bytes between two events.
    """

    def __init__(self, max_bytes: int = 2**63) -> None:
        self._max_bytes = max_bytes
        self._since_event = 0
        self._rest: list[bytes] = []
        self._name = ""
        self._data: list[str] = []
        self._last_id = ""
        self._retry: int | None = None
        self._seen_field = False

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Take bytes and yield every event they complete.

        Raises:
            TooLargeError: Too many bytes have come without completing an event.
        """
        self._since_event += len(chunk)
        if self._since_event > self._max_bytes:
            raise TooLargeError(f"more than {self._max_bytes} bytes in one event")
        self._rest.append(chunk)
        if self._rest[1:] and not _LINE_END.search(chunk) and not self._rest[-2].endswith(b"\r"):
            return  # a long line is joined once, at its end
        buffer = b"".join(self._rest)
        position = 0
        for match in _LINE_END.finditer(buffer, max(0, len(buffer) - len(chunk) - 1)):
            if match.group() == b"\r" and match.end() == len(buffer):
                break  # the line feed of a CRLF may come with the next chunk
            event = self._line(buffer[position : match.start()].decode("utf-8", "replace"))
            position = match.end()
            if event is not None:
                self._since_event = len(buffer) - position
                yield event
        self._rest = [buffer[position:]]

    def _line(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "id" and "\0" not in value:
            self._last_id = value
        elif name == "retry" and value.isdecimal():
            self._retry = int(value)
        else:
            return None
        self._seen_field = True
        return None

    def _dispatch(self) -> Event | None:
        if not self._seen_field:
            return None
        event = Event(
            name=self._name or "message",
            data="\n".join(self._data),
            id=self._last_id,
            retry_ms=self._retry,
        )
        self._name, self._data, self._retry, self._seen_field = "", [], None, False
        return event


async def events(chunks: AsyncIterable[bytes], max_bytes: int) -> AsyncIterator[Event]:
    """Decode a whole response body; an incomplete last event is dropped.

    Raises:
        TooLargeError: An event is larger than `max_bytes`.
    """
    decoder = Decoder(max_bytes)
    async for chunk in chunks:
        for event in decoder.feed(chunk):
            yield event
