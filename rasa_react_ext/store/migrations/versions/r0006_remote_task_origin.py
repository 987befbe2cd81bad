"""The trace of the turn in which a remote task began."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0006"
down_revision = "r0005"

_TABLE = "rasa_react_ext_remote_task"


def upgrade() -> None:
    """Add the column; processes of the release before go on without it."""
    op.add_column(_TABLE, sa.Column("origin", sa.String(64), nullable=False, server_default=""))


def downgrade() -> None:
    """Remove the column."""
    op.drop_column(_TABLE, "origin")
