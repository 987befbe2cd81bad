"""Sessions to MCP servers, shared by all agents and conversations of a process.

Knows the protocol and its transports; knows nothing of the host or of dialogues.
"""

from __future__ import annotations

from rasa_react_ext.mcp_pool.auth import ClientCredentials
from rasa_react_ext.mcp_pool.callback import (
    Callbacks,
    ElicitationAnswer,
    ElicitationRequest,
    Progress,
    SamplingAnswer,
    SamplingRequest,
)
from rasa_react_ext.mcp_pool.dialect import provider_schema
from rasa_react_ext.mcp_pool.event import PoolEvent, Report
from rasa_react_ext.mcp_pool.pool import Pool
from rasa_react_ext.mcp_pool.spec import Offer, ServerSpec, SessionKey, Transport
from rasa_react_ext.mcp_pool.tools import PooledTools, ServerState

__all__ = [
    "Callbacks",
    "ClientCredentials",
    "ElicitationAnswer",
    "ElicitationRequest",
    "Offer",
    "Pool",
    "PoolEvent",
    "PooledTools",
    "Progress",
    "Report",
    "SamplingAnswer",
    "SamplingRequest",
    "ServerSpec",
    "ServerState",
    "SessionKey",
    "Transport",
    "provider_schema",
]
