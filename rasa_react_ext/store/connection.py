"""A database connection that a cancelled task never cuts off half-way.

A statement that was begun runs to its end in a task of its own. Cutting it off would
make the driver throw the connection away in a task that nobody owns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from sqlalchemy import CursorResult
from sqlalchemy.exc import OperationalError, SQLAlchemyError, StatementError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

__all__ = ["WholeConnection"]

Answer = TypeVar("Answer")


class WholeConnection(AsyncConnection):
    """One connection for one transaction; used by one task at a time."""

    def __init__(self, engine: AsyncEngine) -> None:
        super().__init__(engine)
        self._begun: asyncio.Task[Any] | None = None

    async def start(self, is_ctxmanager: bool = False) -> AsyncConnection:
        """Take a connection from the pool.

        Raises:
            SQLAlchemyError: None can be had, whatever the driver says of it.
        """
        try:
            return await self._whole(super().start(is_ctxmanager))
        except SQLAlchemyError:
            raise
        except Exception as error:
            # PostgreSQL's driver lets its own errors and the system's out while it connects.
            raise OperationalError(None, None, error) from error

    async def execute(self, *args: Any, **kwargs: Any) -> CursorResult[Any]:
        """Run a statement; arguments and errors are those of the parent's.

        The text of an error does not repeat the values, which may be users' words.
        """
        try:
            return await self._whole(super().execute(*args, **kwargs))
        except StatementError as error:
            error.hide_parameters = True
            raise

    async def rollback(self) -> None:
        """End the transaction and undo what it did."""
        await self._whole(super().rollback())

    async def run_sync(self, *args: Any, **kwargs: Any) -> Any:
        """Run a function that is given the connection in its blocking form."""
        return await self._whole(super().run_sync(*args, **kwargs))

    async def end(self, *, keep: bool) -> None:
        """Wait for what was begun and return to the pool; runs in a task of its own.

        Args:
            keep: Whether what the transaction did is committed; it is undone otherwise.
        """
        if self._begun is not None:
            # Who asked for it was cancelled or has heard its error.
            await asyncio.wait({self._begun})
            if not self._begun.cancelled():
                self._begun.exception()
        if self.sync_connection is None:
            return
        try:
            if keep:
                await super().commit()
        except OSError as error:
            raise OperationalError(None, None, error) from error
        finally:
            await super().close()

    async def _whole(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        self._begun = asyncio.get_running_loop().create_task(work)
        try:
            return await asyncio.shield(self._begun)
        except OSError as error:
            raise OperationalError(None, None, error) from error
