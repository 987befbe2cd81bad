"""Tells the user at once what a remote agent says while it works, and records what was said."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import structlog
from rasa.agents.constants import A2A_AGENT_CONTEXT_ID_KEY, A2A_AGENT_TASK_ID_KEY
from rasa.agents.utils import map_agent_metadata_to_bot_uttered
from rasa.core.constants import (
    ACTIVE_FLOW_METADATA_KEY,
    BOT_UTTERANCE_AGENT_MESSAGE_TIMESTAMP_KEY,
    BOT_UTTERANCE_AGENT_MESSAGE_TYPE_INTERMEDIATE_MESSAGE,
    BOT_UTTERANCE_AGENT_MESSAGE_TYPE_KEY,
    BOT_UTTERANCE_AGENT_NAME_KEY,
    BOT_UTTERANCE_MESSAGE_ID_KEY,
    STEP_ID_METADATA_KEY,
    UTTER_SOURCE_METADATA_KEY,
)
from rasa.shared.core.events import BotUttered, Event

from rasa_react_ext.a2a_client import Progress
from rasa_react_ext.host.arrival import current_step

if TYPE_CHECKING:
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.a2a_wire import Message, Task
    from rasa_react_ext.host.external.agent import ExternalAgent

__all__ = ["Teller", "message_metadata", "task_metadata"]

SEND_SECONDS = 10.0
PLAYBACK_SECONDS = 120.0
_log = structlog.get_logger()


class Teller:
    """One turn's words on the way.

    Attributes:
        events: What was said, as the host records it, in order.
        shown: The same as texts.
    """

    def __init__(
        self, agent: ExternalAgent, channel: OutputChannel | None, recipient: str | None
    ) -> None:
        self.events: list[Event] = []
        self.shown: list[str] = []
        self._agent = agent
        self._channel = channel if recipient else None
        self._recipient = recipient or ""

    async def tell(self, progress: Progress) -> None:
        """Say it; what could not be said is left for the agent's reply."""
        if self._channel is None or not await self._delivered(self._channel, progress.text):
            return
        self.shown.append(progress.text)
        self.events.append(BotUttered(text=progress.text, metadata=self._metadata(progress.task)))

    async def _delivered(self, channel: OutputChannel, text: str) -> bool:
        playback = channel.send_text_message_awaits_playback()
        try:
            async with asyncio.timeout(PLAYBACK_SECONDS if playback else SEND_SECONDS):
                await channel.send_text_message(self._recipient, text)
        except Exception as error:  # noqa: BLE001 - channels are users' code
            _log.warning(
                "rasa_react_ext.external.message_not_delivered",
                agent_name=self._agent.name,
                error=f"{type(error).__name__}: {error}",
                event_info=(
                    f"The output channel could not deliver what agent {self._agent.name!r} said "
                    "on the way. The agent's reply still holds it if the agent repeats it."
                ),
            )
            return False
        return True

    def _metadata(self, task: Task) -> dict[str, Any]:
        flow, step = current_step()
        return map_agent_metadata_to_bot_uttered(
            {
                UTTER_SOURCE_METADATA_KEY: type(self._agent).__name__,
                BOT_UTTERANCE_AGENT_NAME_KEY: self._agent.name,
                BOT_UTTERANCE_AGENT_MESSAGE_TYPE_KEY: (
                    BOT_UTTERANCE_AGENT_MESSAGE_TYPE_INTERMEDIATE_MESSAGE
                ),
                ACTIVE_FLOW_METADATA_KEY: flow or None,
                STEP_ID_METADATA_KEY: step or None,
                **task_metadata(task),
            }
        )


def task_metadata(task: Task) -> dict[str, Any]:
    """Ids and time of a task's status, as the host names them."""
    metadata: dict[str, Any] = {
        A2A_AGENT_CONTEXT_ID_KEY: task.context_id,
        A2A_AGENT_TASK_ID_KEY: task.id,
    }
    if task.status.HasField("message"):
        metadata |= message_metadata(task.status.message)
    if task.status.HasField("timestamp"):
        time = task.status.timestamp.ToJsonString()
        metadata[BOT_UTTERANCE_AGENT_MESSAGE_TIMESTAMP_KEY] = time
    return {key: value for key, value in metadata.items() if value}


def message_metadata(message: Message) -> dict[str, Any]:
    """Context and id of a message, as the host names them."""
    metadata = {
        A2A_AGENT_CONTEXT_ID_KEY: message.context_id,
        BOT_UTTERANCE_MESSAGE_ID_KEY: message.message_id,
    }
    return {key: value for key, value in metadata.items() if value}
