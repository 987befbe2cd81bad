"""Tools that may destroy something run only after the user said yes.

The wrapper asks a port before each such call; `Confirmations` is the port's memory of
what was asked and answered. The question itself travels with the result, for the
engine to put to the user word by word; what counts as yes is the dialogue's business.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Literal, Protocol

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.source.wrapper import Wrapper
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["Asks", "Confirmations", "Confirmed", "Decision", "Verdict"]

Decision = Literal["run", "asked", "wait", "refused"]
"""`run` it; the user is `asked` about it; `wait`, another question is open; `refused`."""

Verdict = Literal["yes", "no", "other", "away"]
"""What the user's next message was: `other` is neither yes nor no, `away` no answer at all,
because the conversation went elsewhere before there was one."""

_TEXTS: Mapping[Decision, str] = {
    "asked": (
        "Not run yet: the user is being asked for consent. Call it again with exactly the same "
        "arguments if the next message agrees; else it stays undone."
    ),
    "wait": (
        "Not run: another action waits for the user's consent. Call this one again once that "
        "one is settled."
    ),
    "refused": "Not run: the user did not agree to it. Do not call it again unless asked to.",
}
_HEARD: Mapping[Verdict, str] = {
    "yes": (
        "Not run yet, but the user has now agreed. Call it again with exactly the same arguments."
    ),
    "no": _TEXTS["refused"],
    "other": "Not run: the user was asked for consent and did not give it.",
    "away": (
        "Not run: the user was asked for consent, and the conversation went elsewhere before "
        "there was an answer. If it is still wanted, call it again; the user is then asked anew."
    ),
}


class Asks(Protocol):
    """Decides about one call that needs consent; may be called by many runs at once."""

    async def __call__(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> Decision:
        """Say what is to happen with this call now.

        Returns at once where the user is asked in the dialogue; `run` uses up the
        consent it stands on.
        """
        ...


class Confirmed(Wrapper):
    """Puts every call of a tool that declares itself destructive to `asks` first.

    Args:
        source: Source of the tools.
        asks: Decides.
        question: The user's question about one call.
    """

    def __init__(
        self,
        source: ToolSource,
        asks: Asks,
        question: Callable[[Tool, Mapping[str, Any]], str],
    ) -> None:
        super().__init__(source)
        self._asks = asks
        self._question = question

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool, or say why it is not run."""
        decision = await self._asks(tool, arguments, context) if tool.destructive else "run"
        if decision == "run":
            return await self._source.call(tool, arguments, context)
        question = self._question(tool, arguments) if decision == "asked" else ""
        return ToolResult(text=_TEXTS[decision], is_error=True, question=question)


@dataclass(kw_only=True)
class Confirmations:
    """Questions and consents of one run; implements `Asks` for it.

    A consent counts for one run of exactly the call the user was asked about. One
    question is open at a time. With each user message the dialogue calls `heard`;
    whatever is not a clear yes closes the question as not agreed.

    Attributes:
        pending: Fingerprint of the call the user is being asked about, or empty.
        call_id: Id of that call.
        agreed: Fingerprint of the call the user agreed to, or empty.
        refused: Fingerprint of the call the user has just said no to, or empty.
    """

    pending: str = ""
    call_id: str = ""
    agreed: str = ""
    refused: str = ""

    async def __call__(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> Decision:
        """See `Asks`."""
        call = _fingerprint(tool, arguments)
        if call == self.agreed:
            self.agreed = ""
            return "run"
        if call == self.refused:
            return "refused"
        if self.pending and self.pending != call:
            return "wait"
        self.pending, self.call_id = call, context.call_id
        return "asked"

    def heard(self, verdict: Verdict) -> tuple[str, str] | None:
        """Take the user's next message.

        Consent does not outlive the turn it was given for: it is dropped at the next
        message if it was not used.

        Returns:
            Id of the call that was asked about, and what the model is to be told in place
            of its result; None when nothing was asked.
        """
        call, call_id = self.pending, self.call_id
        self.pending = self.call_id = ""
        self.agreed = call if verdict == "yes" else ""
        self.refused = call if verdict == "no" else ""
        return (call_id, _HEARD[verdict]) if call else None

    def to_json(self) -> dict[str, Any]:
        """What has to outlive the turn; hashes only, no arguments."""
        return {"pending": self.pending, "call_id": self.call_id} if self.pending else {}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Confirmations:
        """Back from `to_json`; anything unreadable means that nothing was asked."""
        pending, call_id = data.get("pending"), data.get("call_id")
        if not isinstance(pending, str) or not isinstance(call_id, str):
            return cls()
        return cls(pending=pending, call_id=call_id)


def _fingerprint(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Equal for calls that would do the same."""
    call = [tool.origin, tool.origin_name or tool.name, arguments]
    return sha256(json.dumps(call, sort_keys=True, default=str).encode()).hexdigest()
