"""The project's own actions, with ours among them."""

from __future__ import annotations

from rasa_react_ext.actions import ActionSubAgentStatus

__all__ = ["ActionSubAgentStatus"]
