"""The host's output channel for a terminal: streams, and shows what tools do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rasa.core.channels.channel import OutputChannel

from rasa_react_ext.engine import occurrence as engine

if TYPE_CHECKING:
    from rasa_react_ext.host.terminal.view import View

__all__ = ["TerminalChannel", "ToolWatcher"]


class TerminalChannel(OutputChannel):
    """Hands texts to a view as they come."""

    def __init__(self, view: View) -> None:
        """Show everything in `view`."""
        super().__init__()
        self._view = view

    @classmethod
    def name(cls) -> str:
        """Name of the channel in the conversation."""
        return "terminal"

    @property
    def supports_streaming(self) -> bool:
        """Texts are shown as they come."""
        return True

    async def send_text_message(self, recipient_id: str, text: str, **kwargs: Any) -> None:
        """Show a whole message."""
        self._view.message(text)

    async def send_text_with_buttons(
        self, recipient_id: str, text: str, buttons: list[dict[str, Any]], **kwargs: Any
    ) -> None:
        """Show a message with its choices."""
        choices = "\n".join(f"  - {button.get('title', '')}" for button in buttons)
        self._view.message(f"{text}\n{choices}")

    async def send_response_chunk(self, recipient_id: str, chunk: str, **kwargs: Any) -> None:
        """Show one more piece of a message."""
        self._view.piece(chunk)

    async def send_response_chunk_end(self, recipient_id: str, **kwargs: Any) -> None:
        """End the streamed message."""
        self._view.end(interrupted=bool(kwargs.get("interrupted")))


class ToolWatcher:
    """Shows tools while they run (an engine `Observer`)."""

    def __init__(self, view: View) -> None:
        self._view = view

    def on(self, occurrence: engine.Occurrence) -> None:
        """Take note."""
        if isinstance(occurrence, engine.CallStarted):
            self._view.tool_started(occurrence.call.name, dict(occurrence.call.arguments))
        elif isinstance(occurrence, engine.CallFinished) and occurrence.call.is_tool:
            took = occurrence.duration_ms
            self._view.tool_finished(
                occurrence.call.name,
                seconds=None if took is None else took / 1000,
                is_error=occurrence.result.is_error,
            )
