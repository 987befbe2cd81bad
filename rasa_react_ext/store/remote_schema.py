"""Tables of tasks that remote agents do for conversations, and of what they report."""

from __future__ import annotations

import sqlalchemy as sa

from rasa_react_ext.store.schema import metadata

__all__ = ["inbox", "remote_task"]

_Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")

remote_task = sa.Table(
    "rasa_react_ext_remote_task",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("conversation", sa.String(512), nullable=False),
    sa.Column("agent", sa.String(255), nullable=False),
    sa.Column("task_id", sa.String(255), nullable=False),
    sa.Column("context_id", sa.String(255), nullable=False),
    sa.Column("background", sa.Boolean, nullable=False),
    sa.Column("secret_hash", sa.String(64), nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("parked", sa.Boolean, nullable=False),
    sa.Column("snapshot", sa.LargeBinary, nullable=False),
    sa.Column("said", sa.Text, nullable=False),
    sa.Column("said_at", sa.Float, nullable=True),
    sa.Column("held", sa.Text, nullable=False),
    sa.Column("deadline", sa.Float, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("checked_at", sa.Float, nullable=False),
    sa.Column("claimed_by", sa.String(64), nullable=False),
    sa.Column("claimed_until", sa.Float, nullable=False),
    sa.Column("origin", sa.String(64), nullable=False, server_default=""),
    sa.Index("ix_rasa_react_ext_remote_task_conversation", "conversation", "closed"),
    sa.Index("ix_rasa_react_ext_remote_task_closed", "closed", "checked_at"),
    sa.Index("ix_rasa_react_ext_remote_task_task_id", "task_id"),
)

inbox = sa.Table(
    "rasa_react_ext_inbox",
    metadata,
    sa.Column("seq", _Serial, primary_key=True, autoincrement=True),
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("received_at", sa.Float, nullable=False),
    sa.Column("next_at", sa.Float, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("done", sa.Boolean, nullable=False),
    sa.Column("error", sa.Text, nullable=False),
    sa.Index("ix_rasa_react_ext_inbox_key", "key", "done"),
    sa.Index("ix_rasa_react_ext_inbox_done", "done", "next_at"),
)
