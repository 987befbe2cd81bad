"""Remote A2A agents: found by their card, sent to once, followed until they stop.

Knows the protocol and its transports, no host and no dialogue.
"""

from __future__ import annotations

from rasa_react_ext.a2a_client.card_source import is_address
from rasa_react_ext.a2a_client.connection import Connection
from rasa_react_ext.a2a_client.spec import AgentSpec, Patience, PushTarget
from rasa_react_ext.a2a_client.update import Accepted, Answered, Progress, Running, Settled, Update

__all__ = [
    "Accepted",
    "AgentSpec",
    "Answered",
    "Connection",
    "Patience",
    "Progress",
    "PushTarget",
    "Running",
    "Settled",
    "Update",
    "is_address",
]
