"""Tools that may destroy something run only after the user said yes.

The wrapper asks a port before each such call; `Confirmations` is the port's memory of
what was asked and answered. Who puts the question to the user, and what counts as
yes, is the dialogue's business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, Protocol

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.source.wrapper import Wrapper
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["Asks", "Confirmations", "Confirmed", "Decision"]

Decision = Literal["run", "asked", "wait", "refused"]
"""`run` it; the user is `asked` about it; `wait`, another question is open; `refused`."""

_TEXTS: Mapping[Decision, str] = {
    "asked": (
        "Not run: this needs the user's consent first. Tell the user exactly what it will do "
        "and ask for yes or no. Call it again with the same arguments only after a yes."
    ),
    "wait": (
        "Not run: another action still waits for the user's consent. Settle that one first, "
        "then ask about this one."
    ),
    "refused": "Not run: the user did not agree to it. Do not try it again unless asked to.",
}


class Asks(Protocol):
    """Decides about one call that needs consent; may be called by many runs at once."""

    async def __call__(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """Say what is to happen with this call now.

        Returns at once where the user is asked in the dialogue; `run` uses up the
        consent it stands on.
        """
        ...


class Confirmed(Wrapper):
    """Puts every call of a tool that declares itself destructive to `asks` first."""

    def __init__(self, source: ToolSource, asks: Asks) -> None:
        super().__init__(source)
        self._asks = asks

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool, or say why it is not run."""
        decision = await self._asks(tool, arguments) if tool.destructive else "run"
        if decision == "run":
            return await self._source.call(tool, arguments, context)
        return ToolResult(text=_TEXTS[decision], is_error=True)


@dataclass(kw_only=True)
class Confirmations:
    """Questions and consents of one run; implements `Asks` for it.

    A consent counts for one run of exactly the call the user was asked about. One
    question is open at a time. After each user message the dialogue calls `heard`;
    silence, another topic or an unclear answer close the question as not agreed.

    Attributes:
        pending: Fingerprint of the call the user is being asked about, or empty.
        agreed: Fingerprint of the call the user agreed to, or empty.
        refused: Fingerprints of calls the user did not agree to since the last question.
    """

    pending: str = ""
    agreed: str = ""
    refused: set[str] = field(default_factory=set[str])

    async def __call__(self, tool: Tool, arguments: Mapping[str, Any]) -> Decision:
        """See `Asks`."""
        call = _fingerprint(tool, arguments)
        if call == self.agreed:
            self.agreed = ""
            return "run"
        if call in self.refused:
            return "refused"
        if self.pending and self.pending != call:
            return "wait"
        self.pending = call
        return "asked"

    def heard(self, verdict: Literal["yes", "no", "other"]) -> None:
        """Take the user's next message; `other` is everything that is neither yes nor no.

        Consent does not outlive the turn it was given for: it is dropped at the next
        message if it was not used.
        """
        self.agreed = ""
        self.refused.clear()
        if not self.pending:
            return
        if verdict == "yes":
            self.agreed = self.pending
        else:
            self.refused.add(self.pending)
        self.pending = ""

    def to_json(self) -> dict[str, Any]:
        """What has to outlive the turn; hashes only, no arguments."""
        return {"pending": self.pending} if self.pending else {}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Confirmations:
        """Back from `to_json`; anything unreadable means that nothing was asked."""
        pending = data.get("pending")
        return cls(pending=pending if isinstance(pending, str) else "")


def _fingerprint(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Equal for calls that would do the same."""
    call = [tool.origin, tool.origin_name or tool.name, arguments]
    return sha256(json.dumps(call, sort_keys=True, default=str).encode()).hexdigest()
