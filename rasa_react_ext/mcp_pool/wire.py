"""What every transport hands to a session: two message streams and nothing else.

A transport reports the loss of single requests inside the stream, as an error
answer that carries one of our exceptions, and the loss of the whole wire by a call.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCMessage, RequestId

from rasa_react_ext.errors import OutcomeUnknownError, PeerError

__all__ = [
    "MAX_MESSAGE_BYTES",
    "Inbox",
    "Loss",
    "Outbox",
    "UnrepeatableError",
    "Wire",
    "encoded",
    "lost_answer",
    "parsed",
    "put",
]

MAX_MESSAGE_BYTES = 64 * 2**20
"""Size above which one message of a server is not read on: it would cost our memory."""

Inbox = MemoryObjectSendStream[SessionMessage | Exception]
Outbox = MemoryObjectReceiveStream[SessionMessage]


class UnrepeatableError(OutcomeUnknownError):
    """Lost in a way that no repeating mends: we closed the session, or the answer is too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The wire as a whole is gone.

    Attributes:
        error: What happened.
        at_once: Whether calls in flight are lost too; else they may still be answered.
    """

    error: PeerError
    at_once: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """Both directions of one open transport, as the session of the mcp package wants them."""

    incoming: MemoryObjectReceiveStream[SessionMessage | Exception]
    outgoing: MemoryObjectSendStream[SessionMessage]


def encoded(message: JSONRPCMessage) -> bytes:
    """One message as JSON, on one line."""
    return message.model_dump_json(by_alias=True, exclude_none=True).encode()


def parsed(data: str | bytes, related: RequestId | None) -> SessionMessage | ValueError:
    """Read one message; what is no message is the server's fault and only reported.

    Args:
        data: JSON text.
        related: Our request on whose stream it came, if any.
    """
    try:
        message = JSONRPCMessage.model_validate_json(data)
    except ValueError as error:
        return error
    return SessionMessage(message, ServerMessageMetadata(related_request_id=related))


async def put(inbox: Inbox, item: SessionMessage | Exception) -> None:
    """Hand one message to the session; a session that has ended wants none."""
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        await inbox.send(item)


def lost_answer(request_id: RequestId, error: PeerError) -> SessionMessage:
    """An error answer to a request that will get no other, carrying what happened."""
    data = ErrorData(code=CONNECTION_CLOSED, message=str(error), data=error)
    return SessionMessage(JSONRPCMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=data)))
