"""This assistant as an A2A agent: tasks, turns, streams, pushes and the card.

Knows the protocol and the store; the assistant behind it is a port, the host is unknown.
"""

from __future__ import annotations

from rasa_react_ext.a2a_server.port import Assistant, Output, Profile, Result, Skill, Turn
from rasa_react_ext.a2a_server.server import A2AService
from rasa_react_ext.a2a_server.settings import ServerSettings, read_settings

__all__ = [
    "A2AService",
    "Assistant",
    "Output",
    "Profile",
    "Result",
    "ServerSettings",
    "Skill",
    "Turn",
    "read_settings",
]
