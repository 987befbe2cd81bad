"""The tables as they are after the last revision."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["journal", "metadata"]

metadata = sa.MetaData()

journal = sa.Table(
    "rasa_react_ext_journal",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("conversation", sa.String(512), nullable=False),
    sa.Column("agent", sa.String(255), nullable=False),
    sa.Column("turn", sa.String(64), nullable=False),
    sa.Column("call_key", sa.String(64), nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Index("ix_rasa_react_ext_journal_conversation", "conversation", "agent"),
    sa.Index("ix_rasa_react_ext_journal_created_at", "created_at"),
)
