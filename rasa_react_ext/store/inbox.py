"""What remote agents report, stored before it is acknowledged and kept until it is applied."""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.remote_schema import inbox, remote_task
from rasa_react_ext.store.text import storable

__all__ = ["Acceptance", "Inbox", "Report", "keep_body", "secret_hash"]

MAX_ATTEMPTS = 20
STUCK_ATTEMPTS = 5
MAX_PAUSE_SECONDS = 60.0
_EMPTY_HASH = hashlib.sha256(b"").hexdigest()
PROVEN_AT_MOST = 2000
_proven: dict[str, str] = {}
"""Hashes of secrets that were right, by task: reports with them need no look beforehand."""


class Acceptance(StrEnum):
    """What became of a report at the door."""

    STORED = "stored"
    AGAIN = "again"
    CLOSED = "closed"
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """One report, in the order in which it came."""

    seq: int
    body: bytes
    attempts: int


def secret_hash(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _keeps(source: str) -> sa.TextClause:
    """The statement that stores a body once.

    Written out, since an insert with `ON CONFLICT` of the dialects' own is compiled each time.
    """
    names = [column.name for column in inbox.c if column is not inbox.c.seq]
    return sa.text(
        f"INSERT INTO {inbox.name} ({', '.join(names)}) SELECT {', '.join(f':{n}' for n in names)}"
        f" {source} ON CONFLICT (digest) DO NOTHING"
    ).bindparams(*[sa.bindparam(name, type_=inbox.c[name].type) for name in names])


_KEEP = _keeps("WHERE true")
_KEEP_PROVEN = _keeps(
    f"FROM {remote_task.name} AS task"
    " WHERE task.key = :key AND task.secret_hash = :hashed AND NOT task.closed"
)


async def keep_body(connection: AsyncConnection, key: str, body: bytes) -> bool:
    """Store a body inside the caller's transaction; False if the same is there already.

    Args:
        connection: The transaction.
        key: Our name of the task.
        body: The body as it came.
    """
    return (await connection.execute(_KEEP, _row(key, body))).rowcount == 1


def _row(key: str, body: bytes) -> dict[str, Any]:
    now = time.time()
    return {
        "key": key,
        "digest": hashlib.sha256(key.encode() + b"/" + body).hexdigest(),
        "body": body,
        "received_at": now,
        "next_at": now,
        "attempts": 0,
        "done": False,
        "error": "",
    }


def _prove(key: str, hashed: str) -> None:
    _proven[key] = hashed
    if len(_proven) > PROVEN_AT_MOST:
        del _proven[next(iter(_proven))]


class Inbox:
    """The reports in one database; for any number of processes at once."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def accept(self, key: str, secret: str, body: bytes) -> Acceptance:
        """Store a report if its secret is right; when this returns, it survives a killed process.

        Args:
            key: Our name of the task, from the address.
            secret: What came with the report.
            body: The body.
        """
        given = secret_hash(secret)
        if hmac.compare_digest(given, _proven.get(key, _EMPTY_HASH)) and secret:
            async with self._database.transaction() as connection:
                kept = {**_row(key, body), "hashed": given}
                result = await connection.execute(_KEEP_PROVEN, kept)
            if result.rowcount == 1:
                return Acceptance.STORED
        return await self._accept(key, given, body)

    async def _accept(self, key: str, given: str, body: bytes) -> Acceptance:
        """The same, with a look at the task first, which tells why a report is not stored."""
        query = sa.select(remote_task.c.secret_hash, remote_task.c.closed).where(
            remote_task.c.key == key
        )
        async with self._database.transaction() as connection:
            row = (await connection.execute(query)).first()
            # An unknown key takes the same time as a wrong secret.
            expected = row.secret_hash if row is not None else _EMPTY_HASH
            if not hmac.compare_digest(given, expected) or row is None or given == _EMPTY_HASH:
                return Acceptance.REFUSED
            if row.closed:
                return Acceptance.CLOSED
            _prove(key, given)
            stored = await keep_body(connection, key, body)
        return Acceptance.STORED if stored else Acceptance.AGAIN

    async def key_of(self, task_id: str) -> str:
        """Our name of an open task by the agent's name of it; empty if there is none."""
        query = (
            sa.select(remote_task.c.key)
            .where(remote_task.c.task_id == task_id, remote_task.c.closed.is_(False))
            .order_by(remote_task.c.created_at.desc())
            .limit(1)
        )
        async with self._database.transaction() as connection:
            return str((await connection.execute(query)).scalar() or "")

    async def unread(self, key: str) -> list[Report]:
        """Reports about a task that were not applied yet, in the order in which they came."""
        query = (
            sa.select(inbox.c.seq, inbox.c.body, inbox.c.attempts)
            .where(inbox.c.key == key, inbox.c.done.is_(False))
            .order_by(inbox.c.seq)
        )
        async with self._database.transaction() as connection:
            rows = await connection.execute(query)
            return [Report(seq=row.seq, body=row.body, attempts=row.attempts) for row in rows]

    async def done(self, key: str, up_to: int) -> None:
        """Reports about a task up to this one were applied."""
        async with self._database.transaction() as connection:
            # An error of an earlier attempt would make a dead letter of it.
            await connection.execute(
                inbox.update()
                .where(inbox.c.key == key, inbox.c.seq <= up_to, inbox.c.done.is_(False))
                .values(done=True, error="")
            )

    async def failed(self, key: str, up_to: int, error: str) -> bool:
        """Reports could not be applied and are tried again later; True if they are given up.

        Given up, they stay as dead letters: done, with an error.
        """
        condition = sa.and_(inbox.c.key == key, inbox.c.seq <= up_to, inbox.c.done.is_(False))
        async with self._database.transaction() as connection:
            most = await connection.execute(
                sa.select(sa.func.max(inbox.c.attempts)).where(condition)
            )
            attempts = int(most.scalar() or 0) + 1
            pause = min(0.5 * 2.0**attempts, MAX_PAUSE_SECONDS)
            await connection.execute(
                inbox.update()
                .where(condition)
                .values(
                    attempts=attempts,
                    next_at=time.time() + pause,
                    error=storable(error, 2000),
                    done=attempts >= MAX_ATTEMPTS,
                )
            )
        return attempts >= MAX_ATTEMPTS

    async def is_stuck(self, key: str, since: float) -> bool:
        """Whether a report about a task has failed again and again and was not applied since.

        Args:
            key: Our name of the task.
            since: Reports that came earlier are left out, in seconds since the epoch.
        """
        query = sa.select(inbox.c.seq).where(
            inbox.c.key == key,
            inbox.c.error != "",
            inbox.c.attempts >= STUCK_ATTEMPTS,
            inbox.c.received_at >= since,
        )
        async with self._database.transaction() as connection:
            return (await connection.execute(query.limit(1))).first() is not None

    async def counts(self) -> dict[str, int]:
        """Unread reports and dead letters."""
        unread = sa.select(sa.func.count()).where(inbox.c.done.is_(False))
        dead = sa.select(sa.func.count()).where(inbox.c.done.is_(True), inbox.c.error != "")
        async with self._database.transaction() as connection:
            return {
                "unread": int((await connection.execute(unread)).scalar() or 0),
                "dead": int((await connection.execute(dead)).scalar() or 0),
            }
