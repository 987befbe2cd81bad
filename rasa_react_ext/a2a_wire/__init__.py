"""What travels between A2A agents: states, messages, artifacts, cards and push bodies.

Pure: no input or output, no waiting, no host. Knows protocol 1.0 and 0.3.
"""

from __future__ import annotations

from a2a.types import AgentCard, Artifact, Message, Part, StreamResponse, Task

from rasa_react_ext.a2a_wire.assembly import Assembly
from rasa_react_ext.a2a_wire.card import card_from_json, has_push, has_streaming, interface_urls
from rasa_react_ext.a2a_wire.part import (
    artifact_text,
    data_of,
    file_of,
    message_text,
    outbound_message,
    parts_text,
    structured_entries,
)
from rasa_react_ext.a2a_wire.push import failed_task, read_push, task_body
from rasa_react_ext.a2a_wire.state import STATES, State, read_state

__all__ = [
    "STATES",
    "AgentCard",
    "Artifact",
    "Assembly",
    "Message",
    "Part",
    "State",
    "StreamResponse",
    "Task",
    "artifact_text",
    "card_from_json",
    "data_of",
    "failed_task",
    "file_of",
    "has_push",
    "has_streaming",
    "interface_urls",
    "message_text",
    "outbound_message",
    "parts_text",
    "read_push",
    "read_state",
    "structured_entries",
    "task_body",
]
