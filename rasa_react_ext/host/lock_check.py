"""Warns of a lock store that does not keep two processes apart (design D9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from rasa.core.config.available_endpoints import AvailableEndpoints

__all__ = ["warn_of_lock_store"]

_log = structlog.get_logger()


def warn_of_lock_store(endpoints: AvailableEndpoints) -> None:
    """Say so where endpoints.yml names the host's `redis` lock store."""
    if getattr(endpoints.lock_store, "type", None) != "redis":
        return
    _log.warning(
        "rasa_react_ext.lock_store.not_exclusive",
        event_info=(
            "endpoints.yml: lock_store: type: redis reads and writes a lock in two steps, so two "
            "workers or replicas can hold one conversation at once. With more than one, use "
            "concurrent_redis or rasa_react_ext.locks.PostgresLockStore."
        ),
    )
