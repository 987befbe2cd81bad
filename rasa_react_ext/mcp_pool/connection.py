"""One server with one set of credentials in one event loop: the session of the moment.

Decides when a session is opened, shares one attempt among all who wait, and tries a
server that is down again and again. Knows no tools beyond that their list changed.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Literal

from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.callback import Callbacks
from rasa_react_ext.mcp_pool.event import EventKind, PoolEvent, Report
from rasa_react_ext.mcp_pool.owner import OpenSession
from rasa_react_ext.mcp_pool.spec import ServerSpec

__all__ = ["Connection", "Status"]

Status = Literal["idle", "connecting", "ready", "lost", "down"]

_FIRST_PAUSE_SECONDS = 0.2
_FIRST_BACKOFF_SECONDS = 1.0
_LAST_BACKOFF_SECONDS = 30.0


class Connection:
    """The way to one server; every method is for tasks of its own loop.

    Opening goes in rounds. A round is one try and `max_retries` more; all who need
    the session meanwhile wait for the same round, but no longer than one try may
    take. After a failed round the server is down: nobody waits, and one background
    task tries again with growing pauses.

    Attributes:
        changes: Grows when the server says that its tools have changed.
    """

    def __init__(self, spec: ServerSpec, callbacks: Callbacks, report: Report) -> None:
        self._spec = spec
        self._callbacks = callbacks
        self._report = report
        self._max_retries = spec.max_retries
        self._current: OpenSession | None = None
        self._retired: set[OpenSession] = set()
        self._opener: asyncio.Task[None] | None = None
        self._round_over = asyncio.Event()
        self._round_ends = 0.0
        self._down = False
        self._reason = ""
        self.changes = 0

    @property
    def status(self) -> Status:
        """State at this moment."""
        if self._current is not None and self._current.usable:
            return "ready"
        if self._down:
            return "down"
        if self._opener is not None:
            return "connecting"
        return "idle" if self._current is None else "lost"

    @property
    def reason(self) -> str:
        """Why the server is not ready, in words; empty when it is."""
        return "" if self.status == "ready" else self._reason or "not connected yet"

    def share(self, spec: ServerSpec) -> None:
        """Note one more user; the largest number of retries holds for all."""
        self._max_retries = max(self._max_retries, spec.max_retries)

    def warm(self) -> None:
        """Start a round in the background, unless the session is open or being opened."""
        if self._opener is not None or self.status == "ready":
            return
        if self._current is not None:
            self._retired = {old for old in self._retired if not old.done} | {self._current}
            self._tell("lost", f"The session was lost and is opened anew: {self._current.loss}")
        loop = asyncio.get_running_loop()
        self._round_over = asyncio.Event()
        self._round_ends = loop.time() + self._spec.connect_timeout_seconds
        self._opener = loop.create_task(self._open(), name=f"mcp connect {self._spec.name}")

    async def session(self) -> OpenSession:
        """The session of the moment; opens one if needed, together with all who wait.

        Raises:
            ConnectionLostError: There is none, and nothing was sent.
        """
        current = self._current
        if current is not None and current.usable:
            return current
        self.warm()
        if not self._down:
            try:
                async with asyncio.timeout_at(self._round_ends):
                    await self._round_over.wait()
            except TimeoutError as error:
                text = self._reason or "it has not answered yet"
                raise ConnectionLostError(self._spec.name, text) from error
        if self._current is None or not self._current.usable:
            raise ConnectionLostError(self._spec.name, self.reason)
        return self._current

    async def aclose(self) -> None:
        """Stop trying and end every session. Bounded, and safe to call twice."""
        if self._opener is not None:
            self._opener.cancel()
            await asyncio.wait({self._opener})
        ending = {old for old in self._retired if not old.done}
        if self._current is not None:
            ending.add(self._current)
        self._current, self._retired, self._down = None, set(), False
        await asyncio.gather(*(session.aclose() for session in ending))

    async def _open(self) -> None:
        try:
            for attempt in count():
                try:
                    self._current = await OpenSession.open(
                        self._spec,
                        tools_changed=self._tools_changed,
                        callbacks=self._callbacks,
                        report=self._report,
                    )
                except PeerError as error:
                    await self._failed(attempt, error)
                else:
                    self._down, self._reason = False, ""
                    self._tell("connected", "The session is open.")
                    return
        finally:
            self._opener = None
            self._round_over.set()

    async def _failed(self, attempt: int, error: PeerError) -> None:
        """Note a failed try and wait before the next one."""
        self._reason = str(error)
        transient = isinstance(error, ConnectionLostError | OutcomeUnknownError)
        if not self._down and transient and attempt < self._max_retries:
            await asyncio.sleep(_FIRST_PAUSE_SECONDS * 2**attempt)
            return
        if not self._down:
            self._down = True
            self._round_over.set()
            self._tell("down", f"The server is down, its tools are absent: {error}")
        tries = max(0, attempt - self._max_retries) if transient else 10
        await asyncio.sleep(
            min(_FIRST_BACKOFF_SECONDS * 2 ** min(tries, 10), _LAST_BACKOFF_SECONDS)
        )

    def _tools_changed(self) -> None:
        self.changes += 1

    def _tell(self, kind: EventKind, text: str) -> None:
        self._report(PoolEvent(kind=kind, server=self._spec.name, text=text))
