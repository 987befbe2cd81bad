"""What of a model's answer the user has seen so far."""

from __future__ import annotations

from dataclasses import dataclass

from rasa_react_ext.engine.port import TextStream
from rasa_react_ext.engine.text import sound, visible

__all__ = ["Shown"]


@dataclass(slots=True)
class Shown:
    """What of the current answer the user has seen."""

    stream: TextStream | None
    text: str = ""

    async def write(self, delta: str) -> None:
        """Show one more piece; nothing is shown before there is something to see."""
        delta = sound(delta)
        if self.stream is not None and (self.text or visible(delta)):
            self.text += delta
            await self.stream.write(delta)
