"""The protocol session: the mcp package's `ClientSession`, made safe to share.

Adds what a session shared by many conversations needs: losses come back as our
errors, an abandoned request is called off at the server, and a request of the
server never holds up the answers of others. Opens nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import anyio
from mcp import types
from mcp.client.session import ClientSession
from mcp.shared.exceptions import McpError
from mcp.shared.message import MessageMetadata
from mcp.shared.session import ProgressFnT, ReceiveResultT, RequestResponder

from rasa_react_ext.errors import ConnectionLostError, PeerError
from rasa_react_ext.mcp_pool.wire import Wire, lost_answer

__all__ = ["Session"]

_Incoming = (
    RequestResponder[types.ServerRequest, types.ClientResult] | types.ServerNotification | Exception
)


class Session(ClientSession):
    """One initialised conversation with a server; may be used by many tasks at once."""

    def __init__(self, wire: Wire, *, name: str, tools_changed: Callable[[], None]) -> None:
        super().__init__(
            wire.incoming,
            wire.outgoing,
            message_handler=self._noticed,
            client_info=types.Implementation(name="rasa-react-ext", version="1"),
        )
        self._name = name
        self._tools_changed = tools_changed

    async def send_request(
        self,
        request: types.ClientRequest,
        result_type: type[ReceiveResultT],
        request_read_timeout_seconds: timedelta | None = None,
        metadata: MessageMetadata = None,
        progress_callback: ProgressFnT | None = None,
    ) -> ReceiveResultT:
        """Send one request and wait for its answer, without a time limit of its own.

        Raises:
            PeerError: The request was lost; the subclass says whether it may have run.
            McpError: The server answered with a protocol error.
        """
        request_id = self._request_id
        try:
            return await super().send_request(
                request, result_type, request_read_timeout_seconds, metadata, progress_callback
            )
        except McpError as error:
            if isinstance(error.error.data, PeerError):
                raise error.error.data from error
            raise
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ConnectionLostError(self._name, "the session is closed") from error
        except asyncio.CancelledError:
            if not isinstance(request.root, types.InitializeRequest):
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

    async def _received_request(
        self, responder: RequestResponder[types.ServerRequest, types.ClientResult]
    ) -> None:
        self._task_group.start_soon(super()._received_request, responder)

    async def _noticed(self, message: _Incoming) -> None:
        if isinstance(message, types.ServerNotification) and isinstance(
            message.root, types.ToolListChangedNotification
        ):
            self._tools_changed()
