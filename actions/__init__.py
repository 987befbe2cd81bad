"""The sample's custom actions, which run inside the assistant."""

from rasa_react_ext.actions import ActionSubAgentStatus

__all__ = ["ActionSubAgentStatus"]
