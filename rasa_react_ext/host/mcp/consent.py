"""The user's consent to calls of destructive tools, in one agent turn."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rasa_react_ext.engine.source import Confirmations, Confirmed
from rasa_react_ext.host.mcp.words import NO, YES, verdict

if TYPE_CHECKING:
    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.engine.tool import Tool
    from rasa_react_ext.host.mcp.settings import ToolSettings

__all__ = ["Consent"]

QUESTION = "Shall I run {tool} ({arguments})? Please answer yes or no."
_ARGUMENTS_SHOWN = 500


class Consent:
    """Questions and consents of one agent turn.

    Args:
        settings: The agent's settings.
        kept: What `to_json` gave in the turn before, or nothing.
        message: What the user says now.
        resumed: Whether the host resumes the run after something else, so that the
            message is not the user's.
    """

    def __init__(
        self, settings: ToolSettings, kept: Mapping[str, Any], message: str, *, resumed: bool
    ) -> None:
        self._wanted = settings.confirm == "destructive"
        self._template = settings.confirm_question or QUESTION
        self._calls = Confirmations.from_json(kept if self._wanted else {})
        self._asked = ""
        words = (settings.confirm_yes or YES, settings.confirm_no or NO)
        self.answered = self._calls.heard("away" if resumed else verdict(message, *words))

    def guard(self, source: ToolSource) -> ToolSource:
        """The tools, those that destroy something only after a yes."""
        return Confirmed(source, self._calls, self._question) if self._wanted else source

    def to_json(self, said: str) -> dict[str, Any]:
        """What has to outlive the turn: a question, if the turn really ended with it.

        Args:
            said: The text the turn ended with.
        """
        return self._calls.to_json() if said and said == self._asked else {}

    def _question(self, tool: Tool, arguments: Mapping[str, Any]) -> str:
        parts = {"{tool}": tool.origin_name or tool.name, "{arguments}": _shown(arguments)}
        pattern = "|".join(map(re.escape, parts))
        self._asked = re.sub(pattern, lambda match: parts[match.group()], self._template)
        return self._asked


def _shown(arguments: Mapping[str, Any]) -> str:
    """The arguments for the user; what is too long is cut, and says so."""
    listed = (f"{key}: {json.dumps(arguments[key], ensure_ascii=False)}" for key in arguments)
    text = ", ".join(listed) or "-"
    rest = len(text) - _ARGUMENTS_SHOWN
    return f"{text[:_ARGUMENTS_SHOWN]}… (+{rest})" if rest > 0 else text
