"""Everything that all tables hold about one conversation: counted, and deleted."""

from __future__ import annotations

import time
from collections.abc import Sequence

import sqlalchemy as sa

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.remote_schema import inbox, remote_task
from rasa_react_ext.store.schema import journal
from rasa_react_ext.store.served_schema import (
    context,
    event,
    push_config,
    push_outbox,
    task,
    turn,
)
from rasa_react_ext.store.ticket import ticket

__all__ = ["PersonalData"]

_Part = tuple[str, sa.Table, sa.ColumnElement[bool]]


class PersonalData:
    """The rows of one conversation in one database."""

    def __init__(self, database: Database, conversation: str) -> None:
        """Name a conversation.

        Args:
            database: The database.
            conversation: Sender id.
        """
        self._database = database
        self._conversation = conversation

    async def count(self) -> dict[str, int]:
        """How many rows there are, by what they are."""
        counts: dict[str, int] = {}
        async with self._database.transaction() as connection:
            for name, table, condition in _parts(self._conversation):
                query = sa.select(sa.func.count()).select_from(table).where(condition)
                counts[name] = int((await connection.execute(query)).scalar_one())
        return counts

    async def open_tasks(self) -> int:
        """How many tasks of the conversation have not ended: at remote agents, and served ones."""
        remote = (
            sa.select(sa.func.count())
            .select_from(remote_task)
            .where(
                remote_task.c.conversation == self._conversation,
                remote_task.c.closed.is_(False),
            )
        )
        served = (
            sa.select(sa.func.count())
            .select_from(task)
            .where(task.c.conversation == self._conversation, task.c.ended.is_(False))
        )
        async with self._database.transaction() as connection:
            return sum([int((await connection.execute(q)).scalar_one()) for q in (remote, served)])

    async def forget(self) -> dict[str, int]:
        """Delete the rows, all or none of them; how many there were, by what they were."""
        counts: dict[str, int] = {}
        async with self._database.transaction() as connection:
            # First, in the order in which a claim locks them too.
            held = sa.select(context.c.context_id).where(
                context.c.conversation == self._conversation
            )
            await connection.execute(held.with_for_update())
            for name, table, condition in _parts(self._conversation):
                counts[name] = (await connection.execute(table.delete().where(condition))).rowcount
        return counts


def _parts(conversation: str) -> Sequence[_Part]:
    """Each kind of row; what refers to others comes before them."""
    remote = sa.select(remote_task.c.key).where(remote_task.c.conversation == conversation)
    served = sa.select(task.c.task_id).where(task.c.conversation == conversation)
    of_context = sa.exists().where(
        context.c.caller == turn.c.caller,
        context.c.context_id == turn.c.context_id,
        context.c.conversation == conversation,
    )
    return (
        ("calls in the journal", journal, journal.c.conversation == conversation),
        ("reports of remote agents", inbox, inbox.c.key.in_(remote)),
        ("remote tasks", remote_task, remote_task.c.conversation == conversation),
        ("turns of served tasks", turn, sa.or_(turn.c.task_id.in_(served), of_context)),
        ("events of served tasks", event, event.c.task_id.in_(served)),
        ("push subscriptions", push_config, push_config.c.task_id.in_(served)),
        ("pushes", push_outbox, push_outbox.c.task_id.in_(served)),
        ("served tasks", task, task.c.conversation == conversation),
        ("contexts of callers", context, context.c.conversation == conversation),
        # A lock that is held is given back by its owner.
        (
            "old locks",
            ticket,
            sa.and_(ticket.c.name == conversation, ticket.c.expires_at < time.time()),
        ),
    )
