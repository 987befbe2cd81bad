"""A caller's words in tests of the served bank."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.a2a_server.serving import rpc, state_of

__all__ = ["Caller"]


@dataclass
class Caller:
    """A caller with one context.

    Attributes:
        url: The bank's base URL.
        context: Its context.
        task: The task as it was last answered.
    """

    url: str
    context: str = "c"
    headers: dict[str, str] = field(default_factory=dict)
    task: dict[str, Any] = field(default_factory=dict)

    async def say(self, text: str, **more: Any) -> str:
        """Say something; the state the task is in then."""
        said = {
            "messageId": str(uuid4()),
            "role": "ROLE_USER",
            "parts": [{"text": text}],
            "contextId": self.context,
            **more,
        }
        _, answer = await rpc(self.url, "SendMessage", {"message": said}, headers=self.headers)
        assert "result" in answer, answer
        self.task = answer["result"]["task"]
        return state_of(self.task)

    @property
    def text(self) -> str:
        """What the assistant said."""
        return "".join(part.get("text", "") for part in self._parts)

    @property
    def data(self) -> dict[str, Any]:
        """The facts beside it."""
        found: dict[str, Any] = self._parts[-1]["data"]
        return found

    @property
    def _parts(self) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = self.task["status"]["message"]["parts"]
        return parts
