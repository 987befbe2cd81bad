"""One open session and the one task that opens, serves and closes it.

Others only call through it and signal it: no context is ever left by a task that
did not enter it. A session ends once; a new one is a new object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress

from mcp import types
from mcp.shared.session import ReceiveResultT

from rasa_react_ext.errors import ConnectionLostError, OutcomeUnknownError, PeerError
from rasa_react_ext.mcp_pool.callback import Callbacks
from rasa_react_ext.mcp_pool.caller import Caller
from rasa_react_ext.mcp_pool.event import Report
from rasa_react_ext.mcp_pool.session import Session
from rasa_react_ext.mcp_pool.spec import ServerSpec
from rasa_react_ext.mcp_pool.sse import open_sse
from rasa_react_ext.mcp_pool.stdio import open_stdio
from rasa_react_ext.mcp_pool.streamable_http import open_streamable_http
from rasa_react_ext.mcp_pool.wire import Loss, UnrepeatableError, Wire

__all__ = ["OpenSession"]

_POLITE_SECONDS = 5.0
_FORCED_SECONDS = 5.0
_LINGER_SECONDS = 60.0


class OpenSession:
    """A session owned by a task of its own.

    Use `open` to get one; every method may be called from any task of the same loop.

    Attributes:
        info: What the server said about itself, once open.
    """

    def __init__(
        self,
        spec: ServerSpec,
        *,
        tools_changed: Callable[[], None],
        callbacks: Callbacks,
        report: Report,
    ) -> None:
        self._spec = spec
        self._tools_changed = tools_changed
        self._callbacks = callbacks
        self._report = report
        self._session: Session | None = None
        self._loss: PeerError | None = None
        self._in_flight = 0
        self._settled = asyncio.Event()
        self._stop = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self.info: types.InitializeResult | None = None
        self._task = asyncio.create_task(self._own(), name=f"mcp session {spec.name}")

    @classmethod
    async def open(
        cls,
        spec: ServerSpec,
        *,
        tools_changed: Callable[[], None],
        callbacks: Callbacks,
        report: Report,
    ) -> OpenSession:
        """Open and initialise a session, within the connect time limit.

        Args:
            spec: The server.
            tools_changed: Called when the server says that its tools have changed.
            callbacks: Who answers what the server asks.
            report: Gets what a person may want to know.

        Raises:
            PeerError: It did not work; nothing is left behind.
        """
        opening = cls(spec, tools_changed=tools_changed, callbacks=callbacks, report=report)
        try:
            async with asyncio.timeout(spec.connect_timeout_seconds):
                await opening._settled.wait()
            if opening._loss is not None:
                raise opening._loss
        except TimeoutError as error:
            text = f"no answer within {spec.connect_timeout_seconds:g} s"
            raise ConnectionLostError(spec.name, text) from error
        finally:
            if not opening.usable:
                await opening._end_now()
        return opening

    @property
    def usable(self) -> bool:
        """Whether new calls may be sent."""
        return self.info is not None and self._loss is None and not self._stop.is_set()

    @property
    def loss(self) -> PeerError | None:
        """Why the session is not usable any more, if it once was."""
        return self._loss

    @property
    def done(self) -> bool:
        """Whether the owner task has ended."""
        return self._task.done()

    async def request(
        self,
        request: types.ClientRequest,
        result_type: type[ReceiveResultT],
        caller: Caller | None = None,
    ) -> ReceiveResultT:
        """Send one request; no time limit of its own.

        Args:
            request: The request.
            result_type: What the answer is read as.
            caller: Answers what the server asks meanwhile.

        Raises:
            PeerError: The request was lost; the subclass says whether it may have run.
            McpError: The server answered with a protocol error.
        """
        if self._session is None or not self.usable:
            why = str(self._loss) if self._loss is not None else "the session is closed"
            raise ConnectionLostError(self._spec.name, why)
        self._in_flight += 1
        self._idle.clear()
        try:
            return await self._session.ask(request, result_type, caller)
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    def retire(self, loss: Loss) -> None:
        """Send no new calls; those in flight may still be answered, unless lost too."""
        self._loss = self._loss or loss.error
        if loss.at_once and self._session is not None:
            self._session.fail_all(loss.error)
        self._stop.set()

    async def aclose(self) -> None:
        """End the session: politely, then by force. Bounded, and safe to call twice."""
        closed = UnrepeatableError(self._spec.name, "the session was closed during the call")
        self.retire(Loss(error=closed, at_once=True))
        await asyncio.wait({self._task}, timeout=_POLITE_SECONDS)
        await self._end_now()

    async def _end_now(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=_FORCED_SECONDS)

    async def _own(self) -> None:
        try:
            async with (
                self._open_wire() as wire,
                Session(
                    wire,
                    name=self._spec.name,
                    tools_changed=self._tools_changed,
                    ended=self._ended,
                    callbacks=self._callbacks,
                    report=self._report,
                ) as session,
            ):
                self._session = session
                self.info = await session.initialize()
                self._settled.set()
                await self._stop.wait()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LINGER_SECONDS):
                        await self._idle.wait()
        except Exception as error:  # noqa: BLE001  # whatever it is, it is why the session ended
            self._loss = self._loss or _as_peer_error(self._spec.name, error)
        finally:
            self._stop.set()
            self._settled.set()
            self._loss = self._loss or ConnectionLostError(self._spec.name, "the session ended")
            if self._session is not None:
                self._session.fail_all(
                    OutcomeUnknownError(self._spec.name, f"connection lost: {self._loss}")
                )

    def _ended(self) -> None:
        """Nobody reads answers any more: whatever the reason, the session is of no use."""
        if self.info is not None:  # before that, `initialize` tells what went wrong
            gone = OutcomeUnknownError(self._spec.name, "connection lost: the session ended")
            self.retire(Loss(error=gone, at_once=True))

    def _open_wire(self) -> AbstractAsyncContextManager[Wire]:
        match self._spec.transport:
            case "http":
                return open_streamable_http(self._spec, self.retire)
            case "sse":
                return open_sse(self._spec, self.retire)
            case "stdio":
                return open_stdio(self._spec, self.retire, self._report)


def _as_peer_error(name: str, error: Exception) -> PeerError:
    """The first cause inside task groups, in words."""
    cause: BaseException = error
    while isinstance(cause, BaseExceptionGroup) and cause.exceptions:
        cause = cause.exceptions[0]
    if isinstance(cause, PeerError):
        return cause
    return PeerError(name, f"{type(cause).__name__}: {cause}")
