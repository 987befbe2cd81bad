"""Keeps inner faults inside: a caller hears that something broke, the log hears what."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, TypeVar

import structlog
from a2a.types import InternalError
from a2a.utils.errors import A2AError

__all__ = ["guarded"]

_log = structlog.get_logger()
_Class = TypeVar("_Class", bound=type)


def guarded(handler: _Class) -> _Class:
    """Guard all operations (`on_…`) of a handler class."""
    for name, method in list(vars(handler).items()):
        if name.startswith("on_"):
            guard = _stream if inspect.isasyncgenfunction(method) else _answer
            setattr(handler, name, guard(method))
    return handler


def _answer(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def guard(self: Any, params: Any, context: Any) -> Any:
        try:
            return await method(self, params, context)
        except A2AError:
            raise
        except Exception as error:
            raise _broken(method.__name__) from error

    return guard


def _stream(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    async def guard(self: Any, params: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async with aclosing(method(self, params, context)) as events:
                async for event in events:
                    yield event
        except A2AError:
            raise
        except Exception as error:
            raise _broken(method.__name__) from error

    return guard


def _broken(operation: str) -> InternalError:
    _log.exception(
        "rasa_react_ext.a2a_server.operation_failed",
        operation=operation,
        event_info="An operation of the A2A server broke; the caller was told nothing but that.",
    )
    return InternalError()
