"""The host's output channel of a dialogue that speaks by itself: background work reports."""

from __future__ import annotations

import time
from typing import Any

import structlog

from rasa_react_ext.a2a_server import A2AService
from rasa_react_ext.host.a2a.assistant import HostAssistant, Silence
from rasa_react_ext.host.a2a.turn_channel import TurnChannel

__all__ = ["LaterChannel"]

_log = structlog.get_logger()


class LaterChannel(TurnChannel):
    """Brings what is said to the dialogue's open task: at the end of a turn, or at once."""

    def __init__(
        self, service: A2AService, assistant: HostAssistant, conversation: str, *, repair: bool
    ) -> None:
        super().__init__(Silence(), streaming=False, repair=repair)
        self._service = service
        self._assistant = assistant
        self._conversation = conversation
        self._began: float | None = None

    async def notify_message_processing_started(self) -> None:
        """A turn begins: what is said is reported at its end."""
        self._began = time.time()

    async def notify_message_processing_completed(self) -> None:
        """The turn has ended."""
        if self._began is not None:
            result = await self._assistant.result_of(self, self._began)
            await self._report([], result)

    async def send_text_message(self, recipient_id: str, text: str, **kwargs: Any) -> None:
        """One utterance; outside of a turn it is news of work that goes on."""
        await super().send_text_message(recipient_id, text, **kwargs)
        if self._began is None and self.texts:
            await self._report([self.texts.pop()], None)

    async def _report(self, said: list[str], result: Any) -> None:
        if not await self._service.report(self._conversation, said, result):
            _log.warning(
                "rasa_react_ext.a2a_server.report_without_task",
                conversation_id=self._conversation,
                event_info="Background work has reported, but the caller has no open task.",
            )
