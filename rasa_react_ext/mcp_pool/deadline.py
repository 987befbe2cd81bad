"""The time limit of one call."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

__all__ = ["Deadline"]


class Deadline:
    """Ends a call with `TimeoutError`; an `async with` around the call.

    Progress moves it, but never beyond the total limit. It stands still while the
    user is asked something, because people take longer than tools.
    """

    def __init__(self, seconds: float, limit_seconds: float | None) -> None:
        now = asyncio.get_running_loop().time()
        self._seconds = seconds
        self._last = now + max(seconds, limit_seconds or 0.0)
        self._timeout = asyncio.timeout_at(now + seconds)
        self._holders = 0
        self._left = seconds
        self._over = False

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._over = True
        return await self._timeout.__aexit__(kind, error, trace)

    def progressed(self) -> None:
        """There was a sign of life."""
        now = asyncio.get_running_loop().time()
        self._move(min(now + self._seconds, self._last))

    @contextmanager
    def held(self) -> Generator[None]:
        """Let the limit stand still; what was left of it is left afterwards."""
        clock = asyncio.get_running_loop().time
        began = clock()
        when = self._timeout.when()
        if not self._holders and when is not None:
            self._left = when - began
            self._move(None)
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if not self._holders:
                now = clock()
                self._last += now - began
                self._move(now + self._left)

    def _move(self, when: float | None) -> None:
        if not self._over and not self._holders and not self._timeout.expired():
            self._timeout.reschedule(when)
