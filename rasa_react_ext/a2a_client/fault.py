"""What an error of the SDK or its transports means for the request that met it.

Only one question decides whether a request may be sent again: can the agent have begun
to work on it?
"""

from __future__ import annotations

from dataclasses import dataclass

import grpc
import httpx
from a2a.client.errors import A2AClientError
from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    MethodNotFoundError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from rasa_react_ext.errors import PeerError

__all__ = ["Fault", "is_untrusted", "read_fault", "untrusted_error"]

_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
_MOVED_STATUS = frozenset({301, 302, 303, 307, 308, 404})
_REFUSED_STATUS = _MOVED_STATUS | frozenset({400, 401, 403, 405, 413, 415, 422, 429})
_GRPC_REFUSED = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.UNIMPLEMENTED: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """A failed request.

    Attributes:
        text: What went wrong, for people; holds no credentials.
        began: Whether the agent may have begun to work on the request.
        refused: Whether the agent answered that it will not do this.
        status: HTTP status, or what it would be over gRPC; 0 if none came.
        gone: Whether the agent knows no such task.
        closed: Whether the agent says that the task takes no further message.
        untrusted: Whether the agent showed a certificate that nobody trusted vouches for.
    """

    text: str
    began: bool = True
    refused: bool = False
    status: int = 0
    gone: bool = False
    closed: bool = False
    untrusted: bool = False

    @property
    def moved(self) -> bool:
        """Whether nobody serves this method at this address; the card may tell a new one."""
        return self.status in _MOVED_STATUS


_UNTRUSTED = Fault(text="its certificate is not trusted", began=False, untrusted=True)


def is_untrusted(said: str) -> bool:
    """Whether a failed connection was the certificate's fault; both TLS libraries say so."""
    return "CERTIFICATE_VERIFY_FAILED" in said


def untrusted_error(agent: str) -> PeerError:
    """What to do about an agent whose certificate is not trusted."""
    return PeerError(
        agent,
        f"Agent {agent!r} showed a certificate that is not trusted, or not one for its address. "
        "Name the PEM file of its authority as ca_file of this agent in the ReActPolicy entry.",
    )


def read_fault(error: Exception) -> Fault:
    """What an error says."""
    if isinstance(error, A2AError) and not isinstance(error, A2AClientError):
        return _answer(error)
    cause = error.__cause__
    if isinstance(cause, grpc.aio.AioRpcError):
        return _grpc(cause)
    if isinstance(cause, httpx.HTTPStatusError):
        return _http(cause.response.status_code)
    if isinstance(cause, httpx.HTTPError):
        return _broken(cause)
    return Fault(text=f"{type(error).__name__}: {error}")


def _answer(error: A2AError) -> Fault:
    said = f"{error}"
    over = isinstance(error, InvalidParamsError | UnsupportedOperationError)
    return Fault(
        text=said,
        began=False,
        refused=True,
        status=404 if isinstance(error, MethodNotFoundError) else 0,
        gone=isinstance(error, TaskNotFoundError),
        closed=isinstance(error, TaskNotCancelableError)
        or (over and any(word in said.lower() for word in ("terminal", "completed", "finished"))),
    )


def _broken(error: httpx.HTTPError) -> Fault:
    if not isinstance(error, _NOT_SENT):
        return Fault(text=f"the connection broke ({type(error).__name__})")
    if is_untrusted(f"{error}"):
        return _UNTRUSTED
    return Fault(text=f"no connection ({error or type(error).__name__})", began=False)


def _http(status: int) -> Fault:
    refused = status in _REFUSED_STATUS
    return Fault(
        text=f"HTTP {status}", began=not refused, refused=refused and status != 429, status=status
    )


def _grpc(error: grpc.aio.AioRpcError) -> Fault:
    code, details = error.code(), error.details() or ""
    if code is grpc.StatusCode.UNAVAILABLE and "failed to connect" in details.lower():
        if is_untrusted(details):
            return _UNTRUSTED
        return Fault(text="no connection", began=False)
    if code in _GRPC_REFUSED:
        status = _GRPC_REFUSED[code]
        text = f"gRPC {code.name}: {details}"
        return Fault(text=text, began=False, refused=status != 429, status=status)
    if code is grpc.StatusCode.NOT_FOUND:
        return Fault(text=details, began=False, refused=True, gone=True)
    return Fault(text=f"gRPC {code.name}: {details}")
