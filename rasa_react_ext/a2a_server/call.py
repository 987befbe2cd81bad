"""One request as the rest of the server sees it: who calls, in which protocol, what to answer."""

from __future__ import annotations

from dataclasses import dataclass

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import DefaultServerCallContextBuilder
from starlette.requests import Request

from rasa_react_ext.a2a_server.identity import ANONYMOUS

__all__ = ["SCOPE_KEY", "Call", "CallBuilder", "call_of"]

SCOPE_KEY = "rasa_react_ext.call"
VERSION_HEADER = "a2a-version"


@dataclass(slots=True, kw_only=True)
class Call:
    """A request.

    Attributes:
        caller: Who calls.
        authenticated: Whether that was proven.
        protocol: `0.3` or `1.0`.
        status: HTTP status to answer with in place of the protocol layer's.
    """

    caller: str = ANONYMOUS
    authenticated: bool = False
    protocol: str = "1.0"
    status: int | None = None


class Caller(User):
    """A caller in the form of the protocol package."""

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def is_authenticated(self) -> bool:
        """Whether it proved who it is."""
        return self._call.authenticated

    @property
    def user_name(self) -> str:
        """Its name."""
        return self._call.caller


class CallBuilder(DefaultServerCallContextBuilder):
    """Puts the request's `Call` into the protocol package's context."""

    def build(self, request: Request) -> ServerCallContext:
        """The context of a request that has passed the gate."""
        context = super().build(request)
        call: Call = request.scope[SCOPE_KEY]
        context.state[SCOPE_KEY] = call
        context.user = Caller(call)
        return context


def call_of(context: ServerCallContext) -> Call:
    """The call behind a context."""
    call: Call = context.state[SCOPE_KEY]
    return call
