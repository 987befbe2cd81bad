"""Reading the messages and tools of a request body, for the rules of all profiles.

Tolerant of any shape; judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rasa_react_ext.testing.profile.check import Body

__all__ = [
    "Batch",
    "arguments_problem",
    "batches",
    "blank_texts",
    "calls_of",
    "chat",
    "function_of",
    "functions",
    "has_tool_messages",
    "messages_of",
    "repeated",
    "stray_results",
]

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """An assistant message with calls, and the results directly after it.

    Attributes:
        index: Place of the assistant message.
        calls: Ids of its calls.
        results: Ids named by the tool messages directly after it.
    """

    index: int
    calls: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def unanswered(self) -> list[str]:
        """Ids of calls without a result."""
        return [call for call in self.calls if call not in self.results]

    @property
    def uncalled(self) -> list[str]:
        """Ids of results without a call, or with one that is answered already."""
        open_calls = list(self.calls)
        wrong: list[str] = []
        for result in self.results:
            if result in open_calls:
                open_calls.remove(result)
            else:
                wrong.append(result)
        return wrong


def messages_of(body: Body) -> list[Message]:
    """The messages that are objects."""
    messages = body.get("messages")
    listed = messages if isinstance(messages, list) else []
    return [message for message in listed if isinstance(message, Mapping)]


def chat(body: Body) -> list[Message]:
    """The messages without system messages."""
    return [message for message in messages_of(body) if message.get("role") != "system"]


def calls_of(message: Message) -> list[Mapping[str, Any]]:
    """The tool calls of a message."""
    calls = message.get("tool_calls")
    listed = calls if isinstance(calls, list) else []
    return [call for call in listed if isinstance(call, Mapping)]


def function_of(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    """The `function` object of a tool or a call."""
    function = holder.get("function")
    return function if isinstance(function, Mapping) else {}


def functions(body: Body) -> list[Mapping[str, Any]]:
    """The functions offered as tools."""
    tools = body.get("tools")
    listed = tools if isinstance(tools, list) else []
    return [function_of(tool) for tool in listed if isinstance(tool, Mapping)]


def batches(messages: Sequence[Message]) -> list[Batch]:
    """All assistant messages with calls, in order."""
    found: list[Batch] = []
    for index, message in enumerate(messages):
        calls = tuple(str(call.get("id", "")) for call in calls_of(message))
        if calls:
            found.append(Batch(index=index, calls=calls, results=_results(messages, index + 1)))
    return found


def _results(messages: Sequence[Message], start: int) -> tuple[str, ...]:
    ids: list[str] = []
    for message in messages[start:]:
        if message.get("role") != "tool":
            break
        ids.append(str(message.get("tool_call_id", "")))
    return tuple(ids)


def stray_results(messages: Sequence[Message]) -> list[int]:
    """Places of tool messages that do not stand directly after a batch of calls."""
    wrong: list[int] = []
    after_calls = False
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            if not after_calls:
                wrong.append(index)
        else:
            after_calls = bool(calls_of(message))
    return wrong


def has_tool_messages(body: Body) -> bool:
    """Whether the history holds calls or results."""
    return any(m.get("role") == "tool" or calls_of(m) for m in messages_of(body))


def blank_texts(messages: Sequence[Message]) -> Iterator[int]:
    """Places of messages that hold a blank text, or no text where there must be one."""
    for index, message in enumerate(messages):
        content = message.get("content")
        if content is None:
            if not calls_of(message):
                yield index
            continue
        texts = [content] if isinstance(content, str) else _texts(content)
        if any(not text.strip() for text in texts):
            yield index


def _texts(content: Any) -> list[str]:
    parts = [part for part in content if isinstance(part, Mapping)] if content else []
    return [str(part.get("text", "")) for part in parts if part.get("type") == "text"]


def arguments_problem(body: Body) -> str | None:
    """The first call of the history whose arguments are not a JSON object, described."""
    for index, message in enumerate(messages_of(body)):
        for place, call in enumerate(calls_of(message)):
            arguments = function_of(call).get("arguments")
            if not _is_object(arguments):
                return f"messages[{index}].tool_calls[{place}].function.arguments {arguments!r}"
    return None


def _is_object(arguments: Any) -> bool:
    try:
        return isinstance(arguments, str) and isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def repeated(names: Sequence[str]) -> str | None:
    """The first name that occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
