"""Sessions to MCP servers, shared by all agents and conversations of a process.

Knows the protocol and its transports; knows nothing of the host or of dialogues.
"""

from __future__ import annotations

from rasa_react_ext.mcp_pool.event import PoolEvent, Report
from rasa_react_ext.mcp_pool.pool import Pool
from rasa_react_ext.mcp_pool.spec import ServerSpec, SessionKey, Transport
from rasa_react_ext.mcp_pool.tools import PooledTools, ServerState

__all__ = [
    "Pool",
    "PoolEvent",
    "PooledTools",
    "Report",
    "ServerSpec",
    "ServerState",
    "SessionKey",
    "Transport",
]
