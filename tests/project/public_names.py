"""The names users rely on, pinned: a change here is a change for users.

Here are the modules and packages directly under `rasa_react_ext` (those that list no
names may be left out) and the modules deeper down that users are told to import from.
"""

from __future__ import annotations

__all__ = ["PUBLIC_NAMES"]

PUBLIC_NAMES: dict[str, tuple[str, ...]] = {
    "rasa_react_ext": ("__version__",),
    "rasa_react_ext.compatibility": (
        "OVERRIDE",
        "TESTED_HOST",
        "check_host",
        "host_is_tested",
        "installed_versions",
    ),
    "rasa_react_ext.engine.message": (
        "Message",
        "ModelAnswer",
        "ModelRequest",
        "TokenUsage",
        "ToolCall",
    ),
    "rasa_react_ext.engine.port": (
        "ChatModel",
        "Clock",
        "Conversation",
        "Observer",
        "TextSink",
        "TextStream",
        "ToolSource",
    ),
    "rasa_react_ext.engine.tool": ("CallContext", "Tool", "ToolResult"),
    "rasa_react_ext.errors": (
        "ConfigurationError",
        "ConnectionLostError",
        "ExtensionError",
        "FeedbackError",
        "HostError",
        "LimitError",
        "ModelError",
        "OutcomeUnknownError",
        "PeerError",
    ),
    "rasa_react_ext.mcp_pool": (
        "Pool",
        "PoolEvent",
        "PooledTools",
        "Report",
        "ServerSpec",
        "ServerState",
        "SessionKey",
        "Transport",
    ),
    "rasa_react_ext.policy": ("ReActPolicy",),
    "rasa_react_ext.store": ("Database", "Journal", "JournalEntry"),
    "rasa_react_ext.testing": (
        "PROFILES",
        "Cassette",
        "Exchange",
        "ModelScript",
        "ModelServer",
        "RecordingModel",
        "ReplayModel",
        "ScriptedModel",
        "ServedModel",
    ),
}
