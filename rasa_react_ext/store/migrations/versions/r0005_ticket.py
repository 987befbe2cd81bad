"""Tickets for one thing at a time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0005"
down_revision = "r0004"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "rasa_react_ext_ticket",
        sa.Column(
            "id",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("name", sa.String(512), nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("ends_at", sa.Float, nullable=False),
    )
    op.create_index("ix_rasa_react_ext_ticket_name", "rasa_react_ext_ticket", ["name", "id"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("rasa_react_ext_ticket")
