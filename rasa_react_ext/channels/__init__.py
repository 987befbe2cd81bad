"""Channels that a project names in its credentials.yml."""

from __future__ import annotations

from rasa_react_ext.channels.a2a_server import A2AServer

__all__ = ["A2AServer"]
