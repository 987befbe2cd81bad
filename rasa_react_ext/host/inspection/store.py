"""Checks on the kinds of tracker store, lock store and event broker in endpoints.yml.

Of a kind that it does not find, the host says little: it starts without the broker, or keeps
conversations in memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from rasa.core.brokers.broker import EventBroker
from rasa.core.lock_store import LockStore
from rasa.core.tracker_stores.tracker_store import TrackerStore

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.explain.setting import explained, meant
from rasa_react_ext.host.inspection.class_path import class_at
from rasa_react_ext.host.inspection.draft import NEAR, Draft
from rasa_react_ext.store.ticket import check_lock_url

__all__ = ["KINDS", "check_stores"]

KINDS: Mapping[str, tuple[frozenset[str], type]] = {
    "tracker_store": (
        frozenset({"dynamo", "in_memory", "mongod", "redis", "sql"}),
        TrackerStore,
    ),
    "lock_store": (
        frozenset({"concurrent_redis", "in_memory", "redis"}),
        LockStore,
    ),
    "event_broker": (
        frozenset({"concurrent_kafka", "file", "kafka", "pika", "sql"}),
        EventBroker,
    ),
}
"""Kinds that the host has a name for, and what a class of the project's own extends."""

_OUR_LOCKS = "rasa_react_ext.locks.PostgresLockStore"


def check_stores(draft: Draft) -> None:
    """Look at the `type` of each of the three.

    Args:
        draft: endpoints.yml.
    """
    for section, (known, base) in KINDS.items():
        if draft.at(section) is None or not draft.is_mapping([section]):
            continue
        draft.keys([section], {"type"}, cutoff=NEAR, only=False)
        kind, place = draft.at(section, "type"), [section, "type"]
        if kind is None or "${" in str(kind):
            continue
        if not isinstance(kind, str):
            draft.wrong_value(place, *explained({"type": "string_type"}), None)
        elif kind == _OUR_LOCKS and section == "lock_store":
            _check_our_locks(draft)
        elif "." in kind:
            ours = (_OUR_LOCKS,) if section == "lock_store" else ()
            _, problem, right = class_at(kind, base, ours)
            if problem:
                advice = f"Write the full name of a class that extends {base.__name__}."
                draft.wrong_value(place, problem, _question(right) or advice, right or None)
        elif kind not in known and (section == "lock_store" or kind.lower() not in known):
            right = meant(kind.lower(), known)
            others = f"Write {', '.join(sorted(known))}, or the full name of a class of yours."
            problem = f"there is no {section.replace('_', ' ')} of this kind."
            draft.wrong_value(place, problem, _question(right) or others, right or None)


def _check_our_locks(draft: Draft) -> None:
    url = str(draft.at("lock_store", "url") or "")
    try:
        if not url.startswith("${"):
            check_lock_url(url)
    except ConfigurationError as error:
        draft.wrong_value(["lock_store", "url"], error.problem, error.fix, None)


def _question(right: str) -> str:
    return f"Did you mean {right!r}?" if right else ""
