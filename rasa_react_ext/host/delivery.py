"""Getting texts to the user: whole or as a stream, by what the channel can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import structlog
from rasa.core.channels.channel import caller_requested_streaming
from rasa.tracing.turn import record_turn_first_llm_token
from rasa.tracing.voice import get_current_handle_turn_recorder

if TYPE_CHECKING:
    from rasa.core.channels import OutputChannel

__all__ = ["Delivery", "MessageStream"]

CLOSE_SECONDS = 0.05
_OPENING: dict[str, Any] = {"streaming_config": None, "response_event_id": None}
_log = structlog.get_logger()


class Delivery:
    """Delivers one agent turn's texts to one recipient.

    Without a channel nothing is delivered; the host then utters the pending text.
    """

    def __init__(self, channel: OutputChannel | None, recipient: str | None) -> None:
        self._channel = channel if recipient else None
        self._recipient = recipient or ""

    @property
    def possible(self) -> bool:
        """Whether there is anybody to deliver to."""
        return self._channel is not None

    @property
    def streams(self) -> bool:
        """Whether the channel shows texts as they come."""
        return self._channel is not None and caller_requested_streaming(self._channel)

    def stream(self) -> MessageStream | None:
        """A new message to write to, or None where texts are shown whole."""
        if self._channel is None or not self.streams:
            return None
        return MessageStream(self._channel, self._recipient)

    async def send(self, text: str) -> None:
        """Deliver a whole text. A channel that fails is logged, not raised."""
        if self._channel is None:
            return
        try:
            stream = self.stream()
            if stream is None:
                await self._channel.send_text_message(self._recipient, text)
                return
            await stream.write(text)
            await stream.close()
        except Exception as error:  # noqa: BLE001 - channels are users' code
            _report(error)

    def note_filler(self, text: str, *, is_filler: bool) -> None:
        """Tell a voice channel whether the last message was a filler, for its pacing."""
        if self._channel is None:
            return
        self._channel.note_last_streamed_bot_message_was_filler(is_filler)
        recorder = get_current_handle_turn_recorder()
        if is_filler and recorder is not None:
            recorder.record_filler_sent(text=text)


class MessageStream:
    """One message shown while it is written (the engine's `TextStream`).

    Opens at the first piece. Voice channels with a response writer are never waited
    for; others are, piece by piece.
    """

    def __init__(self, channel: OutputChannel, recipient: str) -> None:
        self._channel = channel
        self._recipient = recipient
        self._writer: Any = None
        self._open = False
        self._broken = False

    async def write(self, delta: str) -> None:
        """Show one more piece. A channel that fails is logged and then left alone."""
        if self._broken:
            return
        try:
            if not self._open:
                await self._start()
            if self._writer is not None:
                self._writer.write(delta)
            else:
                await self._channel.send_response_chunk(recipient_id=self._recipient, chunk=delta)
        except Exception as error:  # noqa: BLE001 - channels are users' code
            self._broken = True
            _report(error)

    async def _start(self) -> None:
        self._open = True
        record_turn_first_llm_token()
        if getattr(self._channel, "supports_response_writer", False) is True:
            self._writer = self._channel.open_response(self._recipient, **_OPENING)
        else:
            await self._channel.send_response_chunk_start(self._recipient, **_OPENING)

    async def close(self, *, interrupted: bool = False) -> None:
        """End the message, if one was begun; a broken-off one is marked as such."""
        if not self._open:
            return
        self._open = False
        try:
            await self._end(interrupted=interrupted or self._broken)
        except Exception as error:  # noqa: BLE001 - channels are users' code
            _report(error)

    async def _end(self, *, interrupted: bool) -> None:
        if self._writer is not None:
            if interrupted:
                self._writer.interrupt()
            else:
                self._writer.finish()
        elif interrupted:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await self._channel.send_response_chunk_end(self._recipient, interrupted=True)
        else:
            await self._channel.send_response_chunk_end(self._recipient)


def _report(error: Exception) -> None:
    _log.warning(
        "rasa_react_ext.delivery.failed",
        error=f"{type(error).__name__}: {error}",
        event_info=(
            "The output channel could not deliver an agent's message. The message is recorded; "
            "check the channel."
        ),
    )
