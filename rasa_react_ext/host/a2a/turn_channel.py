"""The host's output channel of one A2A turn: what the assistant says, as it says it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from rasa.core.channels.channel import OutputChannel
from rasa.dialogue_understanding.stack.frames.pattern_frame import PatternFlowStackFrame
from rasa.dialogue_understanding.stack.utils import top_flow_frame
from rasa.shared.core.trackers import DialogueStateTracker

from rasa_react_ext.a2a_server import Output

__all__ = ["CHANNEL_NAME", "TurnChannel"]

CHANNEL_NAME = "a2a"
"""Name of the channel; responses may have variations for it, as with the host's server."""


class TurnChannel(OutputChannel):
    """Hands utterances on to the task; keeps them for the end of the turn.

    Attributes:
        streaming_chosen: Read by the host: whether pieces are to be sent as they come.
        tracker: The dialogue after the turn.
        texts: All the user was told.
        repairs: What repair patterns said, where callers are to decide about that.
        extras: Buttons and custom payloads of the turn.
    """

    def __init__(self, output: Output, *, streaming: bool, repair: bool) -> None:
        super().__init__()
        self.streaming_chosen = streaming
        self.tracker: DialogueStateTracker | None = None
        self.texts: list[str] = []
        self.repairs: list[str] = []
        self.extras: dict[str, Any] = {}
        self._output = output
        self._repair = repair
        self._artifact_id = ""
        self._held: str | None = None
        self._sent_pieces = False

    @classmethod
    def name(cls) -> str:
        """Name of the channel."""
        return CHANNEL_NAME

    @property
    def supports_streaming(self) -> bool:
        """Pieces are taken always; whether they are sent on is the caller's choice."""
        return True

    @property
    def wants_tracker_state(self) -> bool:
        """The dialogue itself is read, no copy is needed."""
        return False

    def attach_tracker_state(self, tracker: DialogueStateTracker) -> None:
        """The dialogue as it is now."""
        super().attach_tracker_state(tracker)
        self.tracker = tracker

    async def send_text_message(self, recipient_id: str, text: str, **kwargs: Any) -> None:
        """One utterance."""
        await self._say(text, {})

    async def send_text_with_buttons(
        self, recipient_id: str, text: str, buttons: list[dict[str, Any]], **kwargs: Any
    ) -> None:
        """One utterance with buttons; their payloads stay here."""
        titles = [str(button["title"]) for button in buttons if button.get("title")]
        data = {"buttons": [{"title": title} for title in titles]} if titles else {}
        await self._say(text or "", data)

    async def send_custom_json(
        self, recipient_id: str, json_message: dict[str, Any], **kwargs: Any
    ) -> None:
        """A payload for the caller's own code."""
        await self._say("", {"custom": json_message})

    async def send_response_chunk_start(self, recipient_id: str, **kwargs: Any) -> None:
        """Pieces of an utterance follow."""
        await super().send_response_chunk_start(recipient_id, **kwargs)
        self._artifact_id, self._held, self._sent_pieces = str(uuid4()), None, False

    async def send_response_chunk(self, recipient_id: str, chunk: str, **kwargs: Any) -> None:
        """A piece; it is held until the next, since the last one is marked."""
        await super().send_response_chunk(recipient_id, chunk, **kwargs)
        if not chunk or not self.streaming_chosen or self._is_repair():
            return
        if self._held is not None:
            await self._piece(self._held, last=False)
        self._held = chunk

    async def send_response_chunk_end(self, recipient_id: str, **kwargs: Any) -> None:
        """The utterance is whole."""
        await super().send_response_chunk_end(recipient_id, **kwargs)
        if self._held is not None:
            await self._piece(self._held, last=True)
            self._held = None
        text = self._accumulated_streaming_text
        if text.strip() and not kwargs.get("interrupted"):
            await self._tell(text, {}, self._artifact_id if self._sent_pieces else "")

    async def _piece(self, text: str, *, last: bool) -> None:
        await self._output.piece(self._artifact_id, text, first=not self._sent_pieces, last=last)
        self._sent_pieces = True

    async def _say(self, text: str, data: dict[str, Any]) -> None:
        if text and self._is_duplicate_of_last_streamed_response(text):
            text = ""
        await self._tell(text, data, "")

    async def _tell(self, text: str, data: dict[str, Any], artifact_id: str) -> None:
        text = text.strip()
        if self._is_repair():
            if text:
                self.repairs.append(text)
            return
        if not text and not data:
            return
        if text and not (self.texts and self.texts[-1] == text):
            self.texts.append(text)
        self.extras.update(data)
        await self._output.say(text, data=data or None, artifact_id=artifact_id)

    def _is_repair(self) -> bool:
        """Whether a repair pattern speaks, and callers asked not to be told as the user is."""
        if self._repair or self.tracker is None:
            return False
        frame = top_flow_frame(self.tracker.stack, ignore_collect_information_pattern=True)
        return isinstance(frame, PatternFlowStackFrame)
