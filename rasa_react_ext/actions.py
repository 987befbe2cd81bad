"""Custom actions for flows with agents; re-export them in the project's actions package.

    # actions/__init__.py
    from rasa_react_ext.actions import ActionSubAgentStatus

On a separate action server the store is named by the environment variable
`RASA_REACT_EXT_STORE`, with the value that `rasa_react_ext: store:` has in endpoints.yml.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from rasa_sdk import Action, Tracker
from rasa_sdk.executor import CollectingDispatcher
from rasa_sdk.types import DomainDict

from rasa_react_ext.host import process
from rasa_react_ext.store import Database, RemoteTask, RemoteTasks

__all__ = ["ActionSubAgentStatus"]

STORE_VARIABLE = "RASA_REACT_EXT_STORE"
RESPONSE = "utter_sub_agent_status"
_NOTHING = "Nothing is running in the background at the moment."


class ActionSubAgentStatus(Action):
    """Says what a remote agent that works in the background reported last, and since when.

    With a response `utter_sub_agent_status` in the domain that is used instead of our
    sentence; it knows `agent`, `said`, `minutes` and `running_minutes`.
    """

    def name(self) -> str:
        """Name of the action."""
        return "action_sub_agent_status"

    async def run(
        self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: DomainDict
    ) -> list[dict[str, Any]]:
        """Tell about each open task of the conversation."""
        rows = await _open_tasks(str(tracker.sender_id))
        if not rows:
            dispatcher.utter_message(text=_NOTHING)
        for row in rows:
            values = _values(row)
            if RESPONSE in (domain.get("responses") or {}):
                dispatcher.utter_message(response=RESPONSE, **values)
            else:
                dispatcher.utter_message(text=_sentence(values))
        return []


async def _open_tasks(conversation: str) -> list[RemoteTask]:
    url = os.environ.get(STORE_VARIABLE)
    database = Database(url) if url else process.current().database
    try:
        rows = await RemoteTasks(database).open_of(conversation)
    finally:
        if url:
            await database.aclose()
    return [row for row in rows if row.background and not row.parked]


def _values(row: RemoteTask) -> dict[str, Any]:
    now = time.time()
    return {
        "agent": row.agent,
        "said": row.said,
        "minutes": _minutes(now - (row.said_at or row.created_at)),
        "running_minutes": _minutes(now - row.created_at),
    }


def _minutes(seconds: float) -> int:
    return max(0, round(seconds / 60))


def _sentence(values: Mapping[str, Any]) -> str:
    if not values["said"]:
        return f"{values['agent']} has been working for {_ago(values['running_minutes'])}."
    return f"{values['agent']} said {_ago(values['minutes'])} ago: {values['said']}"


def _ago(minutes: int) -> str:
    if minutes == 0:
        return "less than a minute"
    return "a minute" if minutes == 1 else f"{minutes} minutes"
