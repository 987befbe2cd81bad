"""Output channels of the tests: they note in `door` what a user gets, as it is got."""

from __future__ import annotations

import asyncio
from typing import Any

from rasa.core.channels.channel import OutputChannel

from tests.host.channels.agent import door

__all__ = ["Streaming", "Voice", "Whole"]


class Whole(OutputChannel):
    """Shows whole texts."""

    async def send_text_message(self, recipient_id: str, text: str, **kwargs: Any) -> None:
        door.heard.append(text)


class Streaming(Whole):
    """Shows texts as they come.

    Attributes:
        interrupted: Whether each message was broken off.
        pieces: The pieces of the message that is being shown, and of those before.
    """

    supports_streaming = True

    def __init__(self) -> None:
        super().__init__()
        self.interrupted: list[bool] = []
        self.pieces: list[str] = []
        self.begun = asyncio.Event()

    async def send_response_chunk_start(self, recipient_id: str, **kwargs: Any) -> None:
        await super().send_response_chunk_start(recipient_id, **kwargs)
        door.heard.append("")

    async def send_response_chunk(self, recipient_id: str, chunk: str, **kwargs: Any) -> None:
        await super().send_response_chunk(recipient_id, chunk, **kwargs)
        self.pieces.append(chunk)
        door.heard[-1] += chunk
        self.begun.set()

    async def send_response_chunk_end(self, recipient_id: str, **kwargs: Any) -> None:
        await super().send_response_chunk_end(recipient_id, **kwargs)
        self.interrupted.append(bool(kwargs.get("interrupted")))


class Voice(Streaming):
    """Speaks in the background, as slowly as the test wants.

    Attributes:
        may_speak: Nothing is spoken before it is set.
        pacing: What the channel was told about fillers, in order.
    """

    supports_response_writer = True

    def __init__(self) -> None:
        super().__init__()
        self.may_speak = asyncio.Event()
        self.pacing: list[bool] = []

    async def send_response_chunk_start(self, recipient_id: str, **kwargs: Any) -> None:
        await self.may_speak.wait()
        await super().send_response_chunk_start(recipient_id, **kwargs)

    def note_last_streamed_bot_message_was_filler(self, was_filler: bool) -> None:
        self.pacing.append(was_filler)
