"""What every transport hands to a session: two message streams and nothing else.

A transport reports the loss of single requests inside the stream, as an error
answer that carries one of our exceptions, and the loss of the whole wire by a call.
"""

from __future__ import annotations

from dataclasses import dataclass

from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCMessage, RequestId

from rasa_react_ext.errors import OutcomeUnknownError, PeerError

__all__ = ["Inbox", "Loss", "Outbox", "SessionClosedError", "Wire", "lost_answer"]

Inbox = MemoryObjectSendStream[SessionMessage | Exception]
Outbox = MemoryObjectReceiveStream[SessionMessage]


class SessionClosedError(OutcomeUnknownError):
    """We closed the session ourselves; nothing is to be repeated."""


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


def lost_answer(request_id: RequestId, error: PeerError) -> SessionMessage:
    """An error answer to a request that will get no other, carrying what happened."""
    data = ErrorData(code=CONNECTION_CLOSED, message=str(error), data=error)
    return SessionMessage(JSONRPCMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=data)))
