"""Journal of tool calls that were about to run in a turn not yet saved.

A row is written before a call that must not run twice, and removed once the turn is
known to be saved. Rows hold no arguments, only their digest.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field

import sqlalchemy as sa

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.schema import journal

__all__ = ["Journal", "JournalEntry"]

KEPT_SECONDS = 7 * 24 * 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One call that was about to run.

    Attributes:
        turn: The agent turn it belongs to.
        call_key: Digest of the tool and its arguments.
        expires_at: When it is forgotten, in seconds since the epoch; 0 before it is written.
    """

    turn: str
    call_key: str
    expires_at: float = field(default=0.0, compare=False)


class Journal:
    """The journal in one database; for any number of runs at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, conversation: str, agent: str, entry: JournalEntry) -> None:
        """Note a call; when this returns, the note survives a killed process."""
        async with self._database.transaction() as connection:
            await connection.execute(
                journal.insert().values(
                    conversation=conversation,
                    agent=agent,
                    turn=entry.turn,
                    call_key=entry.call_key,
                    created_at=time.time(),
                )
            )

    async def entries(self, conversation: str, agent: str) -> list[JournalEntry]:
        """The notes of a conversation's agent, oldest first."""
        query = (
            sa.select(journal.c.turn, journal.c.call_key, journal.c.created_at)
            .where(journal.c.conversation == conversation, journal.c.agent == agent)
            .where(journal.c.created_at >= time.time() - KEPT_SECONDS)
            .order_by(journal.c.id)
        )
        async with self._database.transaction() as connection:
            rows = await connection.execute(query)
            return [
                JournalEntry(
                    turn=row.turn,
                    call_key=row.call_key,
                    expires_at=row.created_at + KEPT_SECONDS,
                )
                for row in rows
            ]

    async def forget(
        self, conversation: str, agent: str, turns: Collection[str], *, call_key: str | None = None
    ) -> None:
        """Remove the notes of these turns, or of one call in them."""
        condition = sa.and_(
            journal.c.conversation == conversation,
            journal.c.agent == agent,
            journal.c.turn.in_(list(turns)),
        )
        if call_key is not None:
            condition = sa.and_(condition, journal.c.call_key == call_key)
        async with self._database.transaction() as connection:
            await connection.execute(journal.delete().where(condition))

    async def expire_in(self, seconds: float, conversation: str, agent: str, turn: str) -> None:
        """Forget the notes of a turn that has ended when its conversation must be saved."""
        condition = sa.and_(
            journal.c.conversation == conversation,
            journal.c.agent == agent,
            journal.c.turn == turn,
        )
        noted = time.time() - KEPT_SECONDS + seconds
        async with self._database.transaction() as connection:
            await connection.execute(journal.update().where(condition).values(created_at=noted))

    async def forget_old(self, kept_seconds: float = KEPT_SECONDS) -> None:
        """Remove notes of conversations that never came back."""
        async with self._database.transaction() as connection:
            await connection.execute(
                journal.delete().where(journal.c.created_at < time.time() - kept_seconds)
            )

    async def forget_conversation(self, conversation: str) -> None:
        """Remove everything about one conversation."""
        async with self._database.transaction() as connection:
            await connection.execute(journal.delete().where(journal.c.conversation == conversation))
