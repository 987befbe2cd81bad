"""Durable state in SQL: SQLite by default, PostgreSQL where several processes share it.

Knows no host, no dialogue and no protocol: rows in, rows out.
"""

from __future__ import annotations

from rasa_react_ext.store.database import Database
from rasa_react_ext.store.dead_letter import DeadLetter, DeadLetters, Replay
from rasa_react_ext.store.inbox import Acceptance, Inbox, Report, secret_hash
from rasa_react_ext.store.journal import Journal, JournalEntry
from rasa_react_ext.store.personal_data import PersonalData
from rasa_react_ext.store.remote_task import RemoteTask, RemoteTasks
from rasa_react_ext.store.served_push import ServedPushes
from rasa_react_ext.store.served_task import ServedTasks
from rasa_react_ext.store.served_turn import ServedTurns
from rasa_react_ext.store.served_upkeep import ServedUpkeep

__all__ = [
    "Acceptance",
    "Database",
    "DeadLetter",
    "DeadLetters",
    "Inbox",
    "Journal",
    "JournalEntry",
    "PersonalData",
    "RemoteTask",
    "RemoteTasks",
    "Replay",
    "Report",
    "ServedPushes",
    "ServedTasks",
    "ServedTurns",
    "ServedUpkeep",
    "secret_hash",
]
