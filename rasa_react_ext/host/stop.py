"""Stopping a turn at once when the host's cancellation token says so."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from rasa.agents.core.cancellation import CancellationToken

__all__ = ["stoppable"]


@asynccontextmanager
async def stoppable(token: CancellationToken | None) -> AsyncGenerator[anyio.CancelScope]:
    """A scope that the token ends; `cancelled_caught` tells afterwards whether it did."""
    if token is None:
        with anyio.CancelScope() as scope:
            yield scope
        return
    scope = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(_watch, token, scope)
        try:
            with scope:
                yield scope
        finally:
            group.cancel_scope.cancel()


async def _watch(token: CancellationToken, scope: anyio.CancelScope) -> None:
    await token.wait_until_cancelled()
    scope.cancel()
