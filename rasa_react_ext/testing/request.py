"""What a chat-completions request says: the facts that script rules look at.

Reads any shape without failing; judging a request is the profiles' business.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

__all__ = ["ChatRequest", "text_of"]


def text_of(content: Any) -> str:
    """The text of a message content: a string, a list of parts, or nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


class ChatRequest:
    """One parsed request body, with the facts of its conversation.

    Args:
        body: The parsed JSON body.
        deployment: Name in an Azure-style path, used when the body names no model.
    """

    def __init__(self, body: Mapping[str, Any], deployment: str = "") -> None:
        self.body = body
        self._deployment = deployment

    @cached_property
    def messages(self) -> list[Mapping[str, Any]]:
        """The messages that are objects."""
        messages = self.body.get("messages")
        if not isinstance(messages, list):
            return []
        return [message for message in messages if isinstance(message, Mapping)]

    @property
    def model(self) -> str:
        """The model asked for, or the deployment of an Azure-style path."""
        return str(self.body.get("model") or self._deployment)

    @property
    def streams(self) -> bool:
        """Whether the answer is asked for as a stream."""
        return bool(self.body.get("stream"))

    @property
    def includes_usage(self) -> bool:
        """Whether the stream is asked to end with a usage chunk."""
        options = self.body.get("stream_options")
        return isinstance(options, Mapping) and bool(options.get("include_usage"))

    @cached_property
    def tools(self) -> list[str]:
        """Names of the tools offered, in order."""
        tools = self.body.get("tools")
        if not isinstance(tools, list):
            return []
        functions = [tool.get("function") for tool in tools if isinstance(tool, Mapping)]
        return [str(f.get("name", "")) for f in functions if isinstance(f, Mapping)]

    @property
    def tool_choice(self) -> str:
        """`none`, `auto`, `required` or the name of the function that is forced."""
        choice = self.body.get("tool_choice")
        if isinstance(choice, Mapping):
            function = choice.get("function")
            return str(function.get("name", "")) if isinstance(function, Mapping) else ""
        if choice is None:
            return "auto" if self.tools else "none"
        return str(choice)

    @property
    def last_role(self) -> str:
        """Role of the last message, empty without messages."""
        return str(self.messages[-1].get("role", "")) if self.messages else ""

    @cached_property
    def user(self) -> str:
        """Text of the last user message."""
        return self._last_text("user")

    @cached_property
    def system(self) -> str:
        """Text of all system messages."""
        texts = [text_of(m.get("content")) for m in self.messages if m.get("role") == "system"]
        return "\n".join(texts)

    @cached_property
    def result(self) -> str:
        """Text of the last tool message since the last user message."""
        for message in reversed(self.messages):
            if message.get("role") == "tool":
                return text_of(message.get("content"))
            if message.get("role") == "user":
                break
        return ""

    @cached_property
    def tool(self) -> str:
        """Name of the tool whose result is the last message, else empty."""
        return self._tool_at(len(self.messages)) if self.last_role == "tool" else ""

    @cached_property
    def results(self) -> dict[str, str]:
        """Texts of all results since the last user message, by tool; the newest of each."""
        found: dict[str, str] = {}
        for end in range(len(self.messages), 0, -1):
            message = self.messages[end - 1]
            if message.get("role") == "user":
                break
            if message.get("role") == "tool":
                found.setdefault(self._tool_at(end), text_of(message.get("content")))
        return found

    @cached_property
    def step(self) -> int:
        """1 for the first model call after the last user message, 2 after its first batch."""
        batches, after_tool = 0, False
        for message in reversed(self.messages):
            role = message.get("role")
            if role == "user":
                break
            batches += role == "tool" and not after_tool
            after_tool = role == "tool"
        return batches + 1

    @cached_property
    def conversation(self) -> str:
        """The whole conversation as text, calls with their arguments included."""
        lines: list[str] = []
        for message in self.messages:
            lines.append(text_of(message.get("content")))
            if message.get("tool_calls"):
                lines.append(json.dumps(message["tool_calls"], ensure_ascii=False))
        return "\n".join(lines)

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {}

    def folded(self, fact: str) -> str:
        """A text fact in lower case, folded once per request."""
        if fact not in self._folded:
            self._folded[fact] = str(getattr(self, fact)).casefold()
        return self._folded[fact]

    def _tool_at(self, end: int) -> str:
        """Name of the tool whose result is the message before `end`."""
        last, position = self.messages[end - 1], 0
        for message in reversed(self.messages[: end - 1]):
            if message.get("role") == "tool":
                position += 1
            elif message.get("role") == "assistant":
                return _called_name(message.get("tool_calls"), last, position)
            else:
                break
        return str(last.get("name") or "")

    def _last_text(self, role: str) -> str:
        for message in reversed(self.messages):
            if message.get("role") == role:
                return text_of(message.get("content"))
        return ""


def _called_name(calls: Any, result: Mapping[str, Any], position: int) -> str:
    """Name of the call a result answers; ids may repeat, so its place in the batch counts first."""
    if not isinstance(calls, Sequence):
        return ""
    known = [call for call in calls if isinstance(call, Mapping)]
    by_place = known[position : position + 1]
    for call in (*by_place, *known):
        if call.get("id") == result.get("tool_call_id"):
            function = call.get("function")
            return str(function.get("name", "")) if isinstance(function, Mapping) else ""
    return ""
