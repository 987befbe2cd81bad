"""The request log: what was asked, by which rule it was answered, and when.

Bounded; safe to read from another thread than the server's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

__all__ = ["Exchange", "RequestLog", "Watcher"]


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request and what became of it; filled in while it is served.

    Attributes:
        number: 1 for the first request of the server.
        path: Path of the request.
        headers: Request headers, names in lower case.
        body: The parsed body, or None when it was no JSON object.
        rule: Name of the matched rule (`rules[2]` when it has none) or of the file in the
            cassette, or None.
        refused_by: Rule of the provider profile that refused the request, or None.
        answer: Body of the response, or the text of a stream; None for a fault without one.
        status: HTTP status of the response; None when none was sent.
        received_at: Unix time at which the request was read.
        answered_at: Unix time at which the response was complete or dropped.
        client_left: The client went away before the response was complete.
    """

    number: int
    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: dict[str, Any] | None
    rule: str | None = None
    refused_by: str | None = None
    answer: Any = None
    status: int | None = None
    received_at: float = field(default_factory=time.time)
    answered_at: float | None = None
    client_left: bool = False


Watcher = Callable[[Exchange], None]
"""Gets an exchange that is over."""


class RequestLog:
    """The last exchanges of a server.

    Args:
        keep: How many exchanges are kept.
        file: Also written here, one JSON object per finished exchange.
        on_answer: Gets every finished exchange, in the server's thread.
    """

    def __init__(
        self, *, keep: int, file: Path | None = None, on_answer: Watcher | None = None
    ) -> None:
        self._on_answer = on_answer
        self._exchanges: deque[Exchange] = deque(maxlen=keep)
        self._unmatched: deque[Exchange] = deque(maxlen=keep)
        self._path = file
        self._file: TextIO | None = None
        self._losses: list[OSError] = []
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
        self.count = 0

    def open(self) -> None:
        """Open the log file, if there is to be one; its folder is made.

        Raises:
            OSError: The system refuses it.
        """
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a", encoding="utf-8", buffering=1)

    def close(self) -> None:
        """Close the log file."""
        if self._file is not None:
            # What is left to write was refused before, and told.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    @property
    def exchanges(self) -> list[Exchange]:
        """The kept exchanges, oldest first; a copy."""
        return list(self._exchanges)

    @property
    def unmatched(self) -> list[Exchange]:
        """The kept exchanges that no rule answered; a copy."""
        return list(self._unmatched)

    @property
    def losses(self) -> list[OSError]:
        """Why answers that were given could not be stored or logged, one for each; a copy."""
        return list(self._losses)

    def begin(self, path: str, headers: Mapping[str, str], body: dict[str, Any] | None) -> Exchange:
        """Record a request that was just read."""
        self.count += 1
        exchange = Exchange(number=self.count, path=path, headers=headers, body=body)
        self._exchanges.append(exchange)
        self._wake()
        return exchange

    def miss(self, exchange: Exchange) -> None:
        """Record that the script had no answer."""
        self._unmatched.append(exchange)

    def lose(self, error: OSError) -> None:
        """Record that an answer was given but could not be stored or logged."""
        self._losses.append(error)

    def finish(self, exchange: Exchange) -> None:
        """Record that the exchange is over."""
        exchange.answered_at = time.time()
        if self._file is not None:
            try:
                self._file.write(json.dumps(_plain(exchange), ensure_ascii=False) + "\n")
            except OSError as error:
                self.lose(OSError(error.errno, error.strerror, str(self._path)))
        if self._on_answer is not None:
            self._on_answer(exchange)
        self._wake()

    def clear(self) -> None:
        """Forget all exchanges; their numbers start again."""
        self._exchanges.clear()
        self._unmatched.clear()
        self.count = 0

    async def wait_until(self, holds: Callable[[], bool], timeout_seconds: float) -> None:
        """Wait until the condition holds; it is looked at after each change of the log.

        Raises:
            TimeoutError: It did not hold in time.
        """
        changed = asyncio.Event()
        waiter = (asyncio.get_running_loop(), changed)
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout_seconds):
                while not holds():
                    await changed.wait()
                    changed.clear()
        finally:
            self._waiters.remove(waiter)

    def _wake(self) -> None:
        for loop, changed in tuple(self._waiters):
            loop.call_soon_threadsafe(changed.set)


def _plain(exchange: Exchange) -> dict[str, Any]:
    """The exchange as JSON; headers stay out, they hold keys."""
    names = [name for name in Exchange.__slots__ if name != "headers"]
    return {name: getattr(exchange, name) for name in names}
