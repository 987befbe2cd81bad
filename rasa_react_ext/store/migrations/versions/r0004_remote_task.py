"""Tasks that remote agents do for conversations, and what they report."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0004"
down_revision = "r0003"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "rasa_react_ext_remote_task",
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
    )
    _index("remote_task", "conversation", "conversation", "closed")
    _index("remote_task", "closed", "closed", "checked_at")
    _index("remote_task", "task_id", "task_id")
    op.create_table(
        "rasa_react_ext_inbox",
        sa.Column(
            "seq",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("received_at", sa.Float, nullable=False),
        sa.Column("next_at", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
    )
    _index("inbox", "key", "key", "done")
    _index("inbox", "done", "done", "next_at")


def downgrade() -> None:
    """Remove the tables."""
    op.drop_table("rasa_react_ext_inbox")
    op.drop_table("rasa_react_ext_remote_task")


def _index(table: str, name: str, *columns: str) -> None:
    op.create_index(f"ix_rasa_react_ext_{table}_{name}", f"rasa_react_ext_{table}", list(columns))
