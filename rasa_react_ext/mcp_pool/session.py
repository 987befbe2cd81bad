"""The protocol session: the mcp package's `ClientSession`, made safe to share.

Adds what a session shared by many conversations needs: losses come back as our
errors, an abandoned request is called off at the server, and a question of the
server reaches the call it belongs to without holding up the answers of others.
Opens nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import anyio
from mcp import types
from mcp.client.session import ClientSession
from mcp.shared.context import RequestContext
from mcp.shared.exceptions import McpError
from mcp.shared.message import MessageMetadata, ServerMessageMetadata, SessionMessage
from mcp.shared.session import ProgressFnT, ReceiveResultT, RequestResponder

from rasa_react_ext import __version__
from rasa_react_ext.errors import (
    ConnectionLostError,
    LimitError,
    OutcomeUnknownError,
    PeerError,
)
from rasa_react_ext.mcp_pool.callback import Callbacks
from rasa_react_ext.mcp_pool.caller import Caller, declined
from rasa_react_ext.mcp_pool.event import EventKind, PoolEvent, Report
from rasa_react_ext.mcp_pool.wire import Wire, lost_answer

__all__ = ["Session"]

_ENDED = "Connection closed"  # what `ClientSession` answers when its reader ends

_Question = RequestResponder[types.ServerRequest, types.ClientResult]


class Session(ClientSession):
    """One initialised conversation with a server; may be used by many tasks at once."""

    def __init__(
        self,
        wire: Wire,
        *,
        name: str,
        tools_changed: Callable[[], None],
        ended: Callable[[], None],
        callbacks: Callbacks,
        report: Report,
    ) -> None:
        # The callbacks given here only make the capability known; `_reply` answers.
        super().__init__(
            wire.incoming,
            wire.outgoing,
            sampling_callback=_announced if callbacks.sample else None,
            elicitation_callback=_announced if callbacks.elicit else None,
            logging_callback=self._logged,
            message_handler=self._noticed,
            client_info=types.Implementation(name="rasa-react-ext", version=__version__),
        )
        self._name = name
        self._tools_changed = tools_changed
        self._ended = ended
        self._report = report
        self._callers: dict[int, Caller] = {}

    async def ask(
        self,
        request: types.ClientRequest,
        result_type: type[ReceiveResultT],
        caller: Caller | None = None,
    ) -> ReceiveResultT:
        """Send one request and wait for its answer, without a time limit of its own.

        Args:
            request: The request.
            result_type: What the answer is read as.
            caller: Answers what the server asks meanwhile.

        Raises:
            PeerError: The request was lost; the subclass says whether it may have run.
            McpError: The server answered with a protocol error.
        """
        if caller is None:
            return await self.send_request(request, result_type)
        request_id = self._request_id  # the one the next request gets
        self._callers[request_id] = caller
        progress = caller.progress if caller.wants_progress else None
        try:
            return await self.send_request(request, result_type, progress_callback=progress)
        finally:
            del self._callers[request_id]
            caller.end()

    async def send_request(
        self,
        request: types.ClientRequest,
        result_type: type[ReceiveResultT],
        request_read_timeout_seconds: timedelta | None = None,
        metadata: MessageMetadata = None,
        progress_callback: ProgressFnT | None = None,
    ) -> ReceiveResultT:
        """Send one request as `ClientSession` does; see `ask` for what is raised."""
        request_id = self._request_id
        try:
            return await super().send_request(
                request, result_type, request_read_timeout_seconds, metadata, progress_callback
            )
        except McpError as error:
            if isinstance(error.error.data, PeerError):
                raise error.error.data from error
            if error.error.message == _ENDED:
                raise OutcomeUnknownError(self._name, "connection lost") from error
            raise
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ConnectionLostError(self._name, "the session is closed") from error
        except asyncio.CancelledError:
            if not isinstance(request.root, types.InitializeRequest):
                with suppress(RuntimeError):  # the session may be ending at the same time
                    self._task_group.start_soon(self._call_off, request_id)
            raise

    def fail_all(self, error: PeerError) -> None:
        """Answer every request in flight with `error`: nothing else will come."""
        for request_id, stream in list(self._response_streams.items()):
            root = lost_answer(request_id, error).message.root
            if isinstance(root, types.JSONRPCError):
                with suppress(anyio.WouldBlock, anyio.BrokenResourceError):
                    stream.send_nowait(root)

    async def _call_off(self, request_id: int) -> None:
        """Tell the server that nobody waits any more; best effort by nature."""
        notice = types.CancelledNotification(
            params=types.CancelledNotificationParams(
                requestId=request_id, reason="the caller no longer waits"
            )
        )
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self.send_notification(types.ClientNotification(notice))

    async def _receive_loop(self) -> None:
        try:
            await super()._receive_loop()
        finally:
            self._ended()

    async def _handle_response(self, message: SessionMessage) -> None:
        # An answer that crosses a cancelled call finds nobody; that must not end the loop.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await super()._handle_response(message)

    async def _received_request(self, responder: _Question) -> None:
        self._task_group.start_soon(self._answer, responder)

    async def _answer(self, responder: _Question) -> None:
        with responder, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await responder.respond(await self._reply(responder))

    async def _reply(self, responder: _Question) -> types.ClientResult | types.ErrorData:
        question = responder.request.root
        if isinstance(question, types.PingRequest):
            return types.ClientResult(types.EmptyResult())
        if isinstance(question, types.ListRootsRequest):
            return types.ClientResult(types.ListRootsResult(roots=[]))
        answer: types.ElicitResult | types.CreateMessageResult | types.ErrorData
        caller = self._caller(responder)
        try:
            if isinstance(question, types.ElicitRequest | types.CreateMessageRequest):
                if caller is None:
                    answer = declined("it is not clear which call the question belongs to")
                elif isinstance(question, types.ElicitRequest):
                    answer = await caller.elicit(question.params)
                else:
                    answer = await caller.sample(question.params)
            else:
                answer = types.ErrorData(
                    code=types.METHOD_NOT_FOUND, message=f"{question.method} is not served."
                )
        except LimitError as error:
            answer = declined(str(error))
        except Exception as error:  # noqa: BLE001  # a callback is the host's code
            answer = declined(f"answering failed ({type(error).__name__})")
        if isinstance(answer, types.ErrorData):
            self._tell("declined", f"{question.method}: {answer.message}")
            return answer
        return types.ClientResult(answer)

    def _caller(self, responder: _Question) -> Caller | None:
        """The call a question belongs to; without a hint, the only one in flight."""
        metadata = responder.message_metadata
        if isinstance(metadata, ServerMessageMetadata) and metadata.related_request_id is not None:
            return self._callers.get(int(metadata.related_request_id))
        return next(iter(self._callers.values())) if len(self._callers) == 1 else None

    async def _noticed(self, message: _Question | types.ServerNotification | Exception) -> None:
        if isinstance(message, ValueError):
            self._tell("bad_message", "The server sent something that is no MCP message.")
        elif isinstance(message, types.ServerNotification) and isinstance(
            message.root, types.ToolListChangedNotification
        ):
            self._tools_changed()

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        data = params.data
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
        self._report(
            PoolEvent(
                kind="server_log",
                server=self._name,
                text=text,
                data={"server_level": params.level, "server_logger": params.logger or ""},
            )
        )

    def _tell(self, kind: EventKind, text: str) -> None:
        self._report(PoolEvent(kind=kind, server=self._name, text=text))


async def _announced(
    context: RequestContext[ClientSession, Any], params: object
) -> types.ErrorData:
    return declined("this is answered elsewhere")
