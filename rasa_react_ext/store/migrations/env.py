"""Runs alembic on the connection that `store.migration` hands over."""

from __future__ import annotations

from alembic import context

from rasa_react_ext.store.migration import VERSION_TABLE
from rasa_react_ext.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=False,
)
context.run_migrations()
