"""Tasks, turns, contexts, events and push of the assistant as an A2A agent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0001"

PREFIX = "rasa_react_ext_a2a_"
_Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _create_task()
    _create_turn()
    _create_context()
    _create_push()


def _create_task() -> None:
    op.create_table(
        f"{PREFIX}task",
        sa.Column("task_id", sa.String(64), primary_key=True),
        sa.Column("caller", sa.String(255), nullable=False),
        sa.Column("context_id", sa.String(255), nullable=False),
        sa.Column("conversation", sa.String(512), nullable=False),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("push", sa.Boolean, nullable=False),
        sa.Column("cancel_requested_at", sa.Float, nullable=True),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
    )
    _index("task", "caller", "caller", "context_id", "updated_at")
    _index("task", "conversation", "conversation", "ended")
    _index("task", "ended", "ended", "updated_at")
    op.create_table(
        f"{PREFIX}event",
        sa.Column("task_id", sa.String(64), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("payload", sa.LargeBinary, nullable=False),
    )


def _create_turn() -> None:
    op.create_table(
        f"{PREFIX}turn",
        sa.Column("id", _Serial, primary_key=True, autoincrement=True),
        sa.Column("caller", sa.String(255), nullable=False),
        sa.Column("context_id", sa.String(255), nullable=False),
        sa.Column("message_id", sa.String(255), nullable=False),
        sa.Column("task_id", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("runner", sa.String(64), nullable=False),
        sa.Column("lease_until", sa.Float, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
        sa.Column("outcome", sa.LargeBinary, nullable=True),
        sa.UniqueConstraint("caller", "context_id", "message_id", name=f"uq_{PREFIX}turn_message"),
    )
    _index("turn", "status", "status", "lease_until")
    _index("turn", "task", "task_id", "status")
    _index("turn", "expires", "expires_at")


def _create_context() -> None:
    op.create_table(
        f"{PREFIX}context",
        sa.Column("caller", sa.String(255), primary_key=True),
        sa.Column("context_id", sa.String(255), primary_key=True),
        sa.Column("conversation", sa.String(512), nullable=False),
        sa.Column("task_id", sa.String(64), nullable=True),
        sa.Column("last_seen", sa.Float, nullable=False),
    )
    _index("context", "task", "task_id")


def _create_push() -> None:
    op.create_table(
        f"{PREFIX}push_config",
        sa.Column("task_id", sa.String(64), primary_key=True),
        sa.Column("config_id", sa.String(255), primary_key=True),
        sa.Column("protocol", sa.String(8), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        f"{PREFIX}push_outbox",
        sa.Column("id", _Serial, primary_key=True, autoincrement=True),
        sa.Column("task_id", sa.String(64), nullable=False),
        sa.Column("config_id", sa.String(255), nullable=False),
        sa.Column("state", sa.String(32), nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Float, nullable=False),
        sa.Column("dead", sa.Boolean, nullable=False),
        sa.Column("last_error", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    _index("push_outbox", "next", "dead", "next_at")
    _index("push_outbox", "target", "task_id", "config_id", "id")


def _index(table: str, name: str, *columns: str) -> None:
    op.create_index(f"ix_{PREFIX}{table}_{name}", f"{PREFIX}{table}", list(columns))


def downgrade() -> None:
    """Remove the tables."""
    for name in ("push_outbox", "push_config", "event", "context", "turn", "task"):
        op.drop_table(f"{PREFIX}{name}")
