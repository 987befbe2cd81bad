"""Channels that a project names in its credentials.yml."""

from __future__ import annotations

from rasa_react_ext.channels.a2a_server import A2AServer
from rasa_react_ext.channels.task_updates import TaskUpdates, cancel

__all__ = ["A2AServer", "TaskUpdates", "cancel"]
