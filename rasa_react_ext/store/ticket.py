"""Tickets for one thing at a time, first come first served, among all processes; PostgreSQL only.

Times are the database's own, so that the clocks of the processes do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.store.database import Database
from rasa_react_ext.store.schema import metadata

__all__ = ["Ticket", "Tickets", "check_lock_url", "ticket"]

ticket = sa.Table(
    "rasa_react_ext_ticket",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("name", sa.String(512), nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),
    sa.Column("ends_at", sa.Float, nullable=False),
    sa.Index("ix_rasa_react_ext_ticket_name", "name", "id"),
)

_NOW = "extract(epoch from clock_timestamp())"
# Tickets of one name are numbered and committed one after the other: none with a smaller
# number can appear once a larger one is seen.
_IN_ORDER = sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 7262418))")
_FORGET = sa.text(f"DELETE FROM rasa_react_ext_ticket WHERE name = :name AND expires_at < {_NOW}")
_TAKE = sa.text(
    "INSERT INTO rasa_react_ext_ticket (name, expires_at, ends_at) "
    f"VALUES (:name, {_NOW} + least(CAST(:seconds AS float), CAST(:lease AS float)), "
    f"{_NOW} + CAST(:seconds AS float)) RETURNING id"
)
_KEEP = sa.text(
    f"UPDATE rasa_react_ext_ticket SET expires_at = least(ends_at, {_NOW} + CAST(:lease AS float)) "
    f"WHERE id = :id AND expires_at > {_NOW}"
)
_LOOK = sa.text(
    "SELECT min(id) AS first, bool_or(id = :id) AS mine FROM rasa_react_ext_ticket "
    f"WHERE name = :name AND expires_at > {_NOW}"
)
_GIVE_BACK = sa.text("DELETE FROM rasa_react_ext_ticket WHERE id = :id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticket:
    """A place in the queue for a name."""

    name: str
    id: int


class Tickets:
    """The queues in one PostgreSQL database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def take(self, name: str, seconds: float, lease_seconds: float) -> Ticket:
        """Stand in the queue for a name.

        Args:
            name: What is wanted for oneself.
            seconds: How long the ticket is good at most, from now on.
            lease_seconds: How long it is good without a word from its owner.
        """
        async with self._database.transaction() as connection:
            await connection.execute(_IN_ORDER, {"name": name})
            await connection.execute(_FORGET, {"name": name})
            values = {"name": name, "seconds": seconds, "lease": lease_seconds}
            row = await connection.execute(_TAKE, values)
            return Ticket(name=name, id=int(row.scalar_one()))

    async def keep(self, held: Ticket, lease_seconds: float) -> None:
        """Its owner is alive."""
        async with self._database.transaction() as connection:
            await connection.execute(_KEEP, {"id": held.id, "lease": lease_seconds})

    async def is_first(self, held: Ticket) -> bool | None:
        """Whether it is this ticket's turn; None if it has expired."""
        async with self._database.transaction() as connection:
            row = (await connection.execute(_LOOK, {"name": held.name, "id": held.id})).one()
        return row.first == held.id if row.mine else None

    async def give_back(self, held: Ticket) -> None:
        """Leave the queue; the next one is first."""
        async with self._database.transaction() as connection:
            await connection.execute(_GIVE_BACK, {"id": held.id})


def check_lock_url(url: str) -> None:
    """Refuse an address that is not that of a PostgreSQL database.

    Raises:
        ConfigurationError: Names the key and what to write.
    """
    if not url.startswith("postgres"):
        raise ConfigurationError(
            file="endpoints.yml",
            key="lock_store: url",
            problem="PostgresLockStore needs a PostgreSQL database.",
            fix="Write postgresql://user:${PASSWORD}@host/name.",
        )
