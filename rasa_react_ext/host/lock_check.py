"""Warns of a lock store that does not keep two processes apart (design D9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from rasa_react_ext.errors import ConfigurationError

if TYPE_CHECKING:
    from rasa.core.config.available_endpoints import AvailableEndpoints

__all__ = ["lock_store_weakness", "warn_of_lock_store"]

_log = structlog.get_logger()


def lock_store_weakness(kind: str | None) -> ConfigurationError | None:
    """What is to be known about a lock store, by its `type` in endpoints.yml."""
    if kind != "redis":
        return None
    return ConfigurationError(
        file="endpoints.yml",
        key="lock_store: type",
        problem=(
            "redis reads and writes a lock in two steps, so two workers or replicas can hold one "
            "conversation at once."
        ),
        fix=("With more than one, use concurrent_redis or rasa_react_ext.locks.PostgresLockStore."),
    )


def warn_of_lock_store(endpoints: AvailableEndpoints) -> None:
    """Say so where endpoints.yml names the host's `redis` lock store."""
    weakness = lock_store_weakness(getattr(endpoints.lock_store, "type", None))
    if weakness is not None:
        _log.warning("rasa_react_ext.lock_store.not_exclusive", event_info=str(weakness))
