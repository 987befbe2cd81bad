"""The assistant that reports are for, asked for anew each time: models are swapped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rasa_react_ext.errors import HostError

if TYPE_CHECKING:
    from rasa.core.channels import InputChannel, OutputChannel
    from rasa.shared.core.trackers import DialogueStateTracker
    from sanic import Sanic

__all__ = ["Desk"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """A server's assistant.

    Attributes:
        find: Gives the host's agent, or None while no model is loaded.
        channels: Gives the input channels of the server.
    """

    find: Callable[[], Any]
    channels: Callable[[], list[InputChannel]]

    @classmethod
    def of(cls, app: Sanic[Any, Any]) -> Desk:
        """The assistant of a server."""
        return cls(
            find=lambda: getattr(app.ctx, "agent", None),
            channels=lambda: list(getattr(app.ctx, "input_channels", None) or ()),
        )

    def processor(self) -> Any:
        """What handles messages of the loaded model.

        Raises:
            HostError: No model is loaded.
        """
        processor = getattr(self.find(), "processor", None)
        if processor is None:
            raise HostError("No model is loaded, so reports of remote agents wait.")
        return processor

    def output_channel(self, tracker: DialogueStateTracker) -> OutputChannel | None:
        """Where this process can reach the user now, without being asked; None if nowhere."""
        name = tracker.get_latest_input_channel()
        for channel in self.channels():
            if channel.name() == name:
                return channel.get_output_channel_for_conversation(tracker.sender_id)
        return None
