"""The host's channels for a terminal: they stream, and show what tools do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from rasa.core.channels.channel import InputChannel, OutputChannel, UserMessage
from sanic import Blueprint

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.host.observe.redaction import Redaction
from rasa_react_ext.host.reported import one_line
from rasa_react_ext.host.terminal.progress import Progress

if TYPE_CHECKING:
    from rasa_react_ext.host.terminal.view import View

__all__ = ["Terminal", "TerminalChannel", "ToolWatcher"]

NAME = "terminal"


class Terminal(InputChannel):
    """Where the user sits; has no routes.

    Attributes:
        view: Shows the conversation.
        progress: Knows what of the conversation was shown.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.progress = Progress(view)

    @classmethod
    def name(cls) -> str:
        """Name of the channel."""
        return NAME

    def blueprint(self, on_new_message: Callable[[UserMessage], Awaitable[Any]]) -> Blueprint:
        """No routes."""
        return Blueprint(NAME)

    def get_output_channel(self) -> TerminalChannel:
        """A way to the user for what comes by itself, between two turns."""
        return TerminalChannel(self)

    def answering(self, text: str) -> TerminalChannel:
        """A way to the user for the answer to what they said."""
        return TerminalChannel(self, text)


class TerminalChannel(OutputChannel):
    """Hands texts to a view as they come.

    What the user said is shown when the host takes it up, and not before: until then an agent
    in the background may still be speaking, and its words are no answer.

    Attributes:
        is_complete: The host has said that the turn is over.
    """

    def __init__(self, terminal: Terminal, said: str | None = None) -> None:
        """Show everything at a terminal.

        Args:
            terminal: Where the user sits.
            said: What this answers; None for what comes by itself.
        """
        super().__init__()
        self.is_complete = False
        self._view = terminal.view
        self._progress = terminal.progress
        self._asks_again = said is None
        self._said = said or ""

    @classmethod
    def name(cls) -> str:
        """Name of the channel in the conversation."""
        return NAME

    @property
    def supports_streaming(self) -> bool:
        """Texts are shown as they come."""
        return True

    @property
    def wants_tracker_state(self) -> bool:
        """The conversation itself is enough."""
        return False

    def begin(self) -> None:
        """What was said is taken up: shown once."""
        said, self._said = self._said, ""
        if said:
            self._view.said(said)

    async def notify_message_processing_started(self) -> None:
        """The host takes the message up."""
        self.begin()

    async def notify_message_processing_completed(self) -> None:
        """The turn is over."""
        self.is_complete = True
        if self._tracker is not None:
            self._progress.tell(self._tracker)
        self._end()

    async def send_text_message(self, recipient_id: str, text: str, **kwargs: Any) -> None:
        """Show a whole message."""
        self.begin()
        self._view.message(text)
        self._end()

    async def send_text_with_buttons(
        self, recipient_id: str, text: str, buttons: list[dict[str, Any]], **kwargs: Any
    ) -> None:
        """Show a message with its choices."""
        choices = "\n".join(f"  - {button.get('title', '')}" for button in buttons)
        await self.send_text_message(recipient_id, f"{text}\n{choices}")

    async def send_response_chunk(self, recipient_id: str, chunk: str, **kwargs: Any) -> None:
        """Show one more piece of a message."""
        self.begin()
        self._view.piece(chunk)

    async def send_response_chunk_end(self, recipient_id: str, **kwargs: Any) -> None:
        """End the streamed message."""
        self._view.end(interrupted=bool(kwargs.get("interrupted")))
        self._end()

    def _end(self) -> None:
        if self._asks_again:
            self._view.ask()


class ToolWatcher:
    """Shows tools while they run (an engine `Observer`)."""

    def __init__(self, view: View) -> None:
        self._view = view

    def on(self, occurrence: engine.Occurrence) -> None:
        """Take note."""
        if isinstance(occurrence, engine.CallStarted):
            given = Redaction().value(dict(occurrence.call.arguments))
            self._view.tool_started(occurrence.call.name, given)
        elif isinstance(occurrence, engine.CallFinished) and occurrence.call.is_tool:
            took = occurrence.duration_ms
            self._view.tool_finished(
                occurrence.call.name,
                seconds=None if took is None else took / 1000,
                failure=_reason(occurrence) if occurrence.result.is_error else None,
            )


def _reason(finished: engine.CallFinished) -> str:
    """Why a call failed; without values that stand under the name of a secret anywhere."""
    return one_line(Redaction(dict(finished.call.arguments)).text(finished.result.text))
