"""Tables of the assistant as an A2A agent: tasks, turns, contexts, events and push."""

from __future__ import annotations

import sqlalchemy as sa

from rasa_react_ext.store.schema import metadata

__all__ = ["context", "event", "push_config", "push_outbox", "task", "turn"]

PREFIX = "rasa_react_ext_a2a_"
_Serial = sa.BigInteger().with_variant(sa.Integer, "sqlite")

task = sa.Table(
    f"{PREFIX}task",
    metadata,
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
    sa.Index(f"ix_{PREFIX}task_caller", "caller", "context_id", "updated_at"),
    sa.Index(f"ix_{PREFIX}task_conversation", "conversation", "ended"),
    sa.Index(f"ix_{PREFIX}task_ended", "ended", "updated_at"),
)

turn = sa.Table(
    f"{PREFIX}turn",
    metadata,
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
    sa.Index(f"ix_{PREFIX}turn_status", "status", "lease_until"),
    sa.Index(f"ix_{PREFIX}turn_task", "task_id", "status"),
    sa.Index(f"ix_{PREFIX}turn_expires", "expires_at"),
)

context = sa.Table(
    f"{PREFIX}context",
    metadata,
    sa.Column("caller", sa.String(255), primary_key=True),
    sa.Column("context_id", sa.String(255), primary_key=True),
    sa.Column("conversation", sa.String(512), nullable=False),
    sa.Column("task_id", sa.String(64), nullable=True),
    sa.Column("last_seen", sa.Float, nullable=False),
    sa.Index(f"ix_{PREFIX}context_task", "task_id"),
)

event = sa.Table(
    f"{PREFIX}event",
    metadata,
    sa.Column("task_id", sa.String(64), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("payload", sa.LargeBinary, nullable=False),
)

push_config = sa.Table(
    f"{PREFIX}push_config",
    metadata,
    sa.Column("task_id", sa.String(64), primary_key=True),
    sa.Column("config_id", sa.String(255), primary_key=True),
    sa.Column("protocol", sa.String(8), nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)

push_outbox = sa.Table(
    f"{PREFIX}push_outbox",
    metadata,
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
    sa.Index(f"ix_{PREFIX}push_outbox_next", "dead", "next_at"),
    sa.Index(f"ix_{PREFIX}push_outbox_target", "task_id", "config_id", "id"),
)
