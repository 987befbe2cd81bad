"""The chat model below the host's answer type.

The host resolves a model group to its own client; the adapters here take the
resolved settings from that client and read the provider's raw answer. Nothing
outside this package knows how a provider is reached.
"""

from __future__ import annotations

from rasa_react_ext.host.chat.litellm_clients import closing_clients
from rasa_react_ext.host.chat.model import HostChatModel, chat_model

__all__ = ["HostChatModel", "chat_model", "closing_clients"]
