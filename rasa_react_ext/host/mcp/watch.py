"""Notices at the end of each turn that a conversation has let go of an open call.

Whether the user cancelled, or the flow was restarted or failed: a call that no frame
knows any more is ended, and its server is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy
from rasa.dialogue_understanding.stack.frames.flow_stack_frame import AgentStackFrame
from rasa.plugin import plugin_manager

from rasa_react_ext.host import arrival, process
from rasa_react_ext.host.mcp.asking import kept_ids
from rasa_react_ext.host.mcp.tool_turn import NOTES_KEY

if TYPE_CHECKING:
    from rasa.shared.core.trackers import DialogueStateTracker

__all__ = ["register_watch"]

NAME = "rasa_react_ext.mcp"
_hookimpl = pluggy.HookimplMarker("rasa")


class Watch:
    """The host's plug-in hook that we use."""

    @_hookimpl
    def after_prediction_loop_end(self, tracker: DialogueStateTracker) -> None:
        """Compare the open calls of a conversation with what its stack knows."""
        calls = process.current().open_calls
        if not len(calls):
            return
        known: set[str] = set()
        for frame in tracker.stack.frames:
            kept = (frame.metadata or {}) if isinstance(frame, AgentStackFrame) else {}
            memory = kept.get(arrival.MEMORY_KEY) or {}
            known |= kept_ids(memory.get(NOTES_KEY) or {})
        calls.keep_only(tracker.sender_id, known)


def register_watch() -> None:
    """Hear of the end of turns; once per process."""
    manager = plugin_manager()
    if not manager.has_plugin(NAME):
        manager.register(Watch(), name=NAME)
