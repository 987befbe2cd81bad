"""Journal of tool calls that must not run twice."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None


def upgrade() -> None:
    """Create the journal."""
    op.create_table(
        "rasa_react_ext_journal",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("conversation", sa.String(512), nullable=False),
        sa.Column("agent", sa.String(255), nullable=False),
        sa.Column("turn", sa.String(64), nullable=False),
        sa.Column("call_key", sa.String(64), nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_index(
        "ix_rasa_react_ext_journal_conversation",
        "rasa_react_ext_journal",
        ["conversation", "agent"],
    )
    op.create_index(
        "ix_rasa_react_ext_journal_created_at", "rasa_react_ext_journal", ["created_at"]
    )


def downgrade() -> None:
    """Remove the journal."""
    op.drop_table("rasa_react_ext_journal")
