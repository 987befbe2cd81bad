"""What the project must be like for the A2A server, checked when the model is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import structlog
from rasa.constants import ENV_SANIC_WORKERS
from rasa.core.agent import Agent
from rasa.core.config.configuration import Configuration
from rasa.core.lock_store import InMemoryLockStore, RedisLockStore
from rasa.core.tracker_stores.tracker_store import InMemoryTrackerStore
from rasa.exceptions import ValidationError
from rasa.shared.utils.yaml import read_config_file

from rasa_react_ext.a2a_server.settings import CHANNEL, HOST_KEYS
from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.store import Database

__all__ = ["check_block", "check_processes", "check_sessions"]

_log = structlog.get_logger()
BLOCK = "a2a_server"
SESSION_CODE = "validation.a2a_server.incompatible_session_config"


def check_block() -> None:
    """Refuse a block of the host's own server: both would serve the same addresses.

    Raises:
        ConfigurationError: It is there; the text lists the keys to move.
    """
    endpoints = Configuration.get_instance().endpoints
    file = getattr(endpoints, "config_file_path", None)
    block = getattr(endpoints, BLOCK, None)
    if block is None:
        return
    written: Mapping[str, Any] = read_config_file(file).get(BLOCK) or {} if file else {}
    keys = [key for key in HOST_KEYS if key in written] or list(HOST_KEYS)
    raise ConfigurationError(
        file=str(file or "endpoints.yml"),
        key=BLOCK,
        problem=f"{CHANNEL} in credentials.yml serves the same addresses.",
        fix=f"Move these keys there and remove the block: {', '.join(keys)}.",
    )


def check_processes(agent: Agent, database: Database) -> None:
    """Refuse several workers that would not share dialogues; warn of what is badly shared.

    Args:
        agent: The host's agent.
        database: Where tasks are kept.

    Raises:
        ConfigurationError: The tracker store is the memory of each process.
    """
    workers = os.environ.get(ENV_SANIC_WORKERS, "1")
    if not workers.isdigit() or int(workers) < 2:
        return
    if isinstance(agent.lock_store, InMemoryLockStore):
        return  # the host then starts one worker, and says so
    tracker_store = getattr(agent.tracker_store, "_tracker_store", agent.tracker_store)
    if isinstance(tracker_store, InMemoryTrackerStore):
        raise ConfigurationError(
            file="endpoints.yml",
            key="tracker_store",
            problem=f"{workers} workers would each have dialogues of their own.",
            fix=f"Name a tracker store that they share, or run one ({ENV_SANIC_WORKERS}=1).",
        )
    if type(agent.lock_store) is RedisLockStore:
        _log.warning(
            "rasa_react_ext.a2a_server.lock_store_not_exclusive",
            event_info="The lock store `redis` is not atomic: two workers may answer one "
            "conversation at once. Use `concurrent_redis` or "
            "`rasa_react_ext.locks.PostgresLockStore`.",
        )
    if database.url.get_backend_name() == "sqlite":
        _log.warning(
            "rasa_react_ext.a2a_server.store_is_a_file",
            event_info=f"{workers} workers write to one SQLite file, one after the other, and "
            "replicas elsewhere do not see it. Name a PostgreSQL database under "
            "`rasa_react_ext: store:` in endpoints.yml.",
        )


def check_sessions(agent: Agent) -> None:
    """Demand that sessions go on after a pause, as the host's server does.

    Raises:
        ValidationError: The domain lets a resumed context begin anew.
    """
    domain = agent.domain
    if domain is None or not domain.session_config.start_session_after_expiry:
        return
    raise ValidationError(
        code=SESSION_CODE,
        event_info=(
            f"With {CHANNEL} in credentials.yml, the domain must set "
            "`start_session_after_expiry: false`: a caller's context may be resumed at any "
            "time, and a new session would lose its slots and its place in the flow. "
            "Write in domain.yml:\n\n"
            "session_config:\n"
            "  session_expiration_time: 60\n"
            "  start_session_after_expiry: false"
        ),
    )
