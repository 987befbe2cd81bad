"""Message lists that every provider accepts.

Rules (design D3.8): one system message, first; then a user turn; neighbours of
one role merged; every call answered directly after its message; no empty text;
the last message never the assistant's. Nothing here decides what is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.memory import Memory, TurnMemory, remembered_words
from rasa_react_ext.engine.message import Message
from rasa_react_ext.engine.step import safe_word
from rasa_react_ext.engine.text import sound, visible

__all__ = ["call_ids", "conversation", "with_instruction", "without_tools"]

FIRST = -1
_ROLES = {"assistant", "tool", "user"}
Content = str | list[Mapping[str, Any]]


def conversation(messages: Iterable[Message], memory: Memory, model: str) -> list[Message]:
    """Join what was said with what the run did in earlier turns, and make it valid.

    Args:
        messages: System, user and assistant messages as the host or a user's hook
            built them; odd shapes are repaired, not refused.
        memory: Tool calls and results of the run's earlier turns.
        model: The model that will be asked; others' opaque fields are left out.

    Returns:
        A list that begins with the system message, if there is any instruction.
    """
    system, rest = _split_system(messages)
    woven = _weave(rest, memory.turns, model)
    body = _closed(_merged(_answered(woven)))
    return [{"role": "system", "content": system}, *body] if system else body


def with_instruction(messages: Sequence[Message], instruction: str) -> list[Message]:
    """The same messages with one more instruction, merged into the system message."""
    if messages and messages[0]["role"] == "system":
        content = f"{messages[0]['content']}\n\n{instruction}"
        return [{"role": "system", "content": content}, *messages[1:]]
    return [{"role": "system", "content": instruction}, *messages]


def without_tools(messages: Iterable[Message]) -> list[Message]:
    """The same history with calls and results in words, where no tools are offered (case B31)."""
    names: dict[str, str] = {}
    told: list[Message] = []
    for message in messages:
        if calls := message.get("tool_calls"):
            lines = [_text(message.get("content"))]
            for call in calls:
                function = call["function"]
                names[call["id"]] = function["name"]
                lines.append(wording.called(function["name"], function["arguments"]))
            told.append({"role": "assistant", "content": "\n".join(filter(None, lines))})
        elif message["role"] == "tool":
            text = wording.result_of(names[message["tool_call_id"]], message["content"])
            told.append({"role": "user", "content": text})
        else:
            told.append(message)
    return list(_merged(told))


def call_ids(messages: Iterable[Message]) -> Iterator[str]:
    """Ids of all calls."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield call["id"]


def _split_system(messages: Iterable[Message]) -> tuple[str, list[Message]]:
    instructions: list[str] = []
    rest: list[Message] = []
    for message in messages:
        role = message.get("role")
        if role in {"system", "developer"}:
            instructions.append(_text(message.get("content")))
        else:
            rest.append(message if role in _ROLES else {**message, "role": "user"})
    return "\n\n".join(text for text in instructions if text), rest


def _weave(messages: list[Message], turns: Sequence[TurnMemory], model: str) -> list[Message]:
    """Put each turn's steps behind the user message that started it.

    A turn whose user message is not there comes with that message: before the turn
    that followed it, or first of all when everything before it has left the window
    too. Texts that the steps hold are not repeated as plain assistant messages.
    """
    after, before = _places(messages, turns)
    woven: list[Message] = []
    spoken = _retold(woven, before.get(FIRST, ()), model)
    for index, message in enumerate(messages):
        spoken = _retold(woven, before.get(index, ()), model) or spoken
        text = _text(message.get("content"))
        if message["role"] == "assistant" and text in spoken:
            spoken.remove(text)
            continue
        woven.append(message)
        if index in after:
            spoken = _continued(woven, after[index], model)
    return woven


def _retold(woven: list[Message], turns: Iterable[TurnMemory], model: str) -> list[str]:
    """Add whole turns; returns the texts that the last one's steps hold."""
    texts: list[str] = []
    for turn in turns:
        woven.append({"role": "user", "content": turn.user})
        texts = _continued(woven, turn, model)
    return texts


def _continued(woven: list[Message], turn: TurnMemory, model: str) -> list[str]:
    """Add a turn's steps; returns the texts they hold."""
    for step in turn.steps:
        woven.extend(step.seen_by(model).messages())
    return [step.text for step in turn.steps if step.text]


def _places(
    messages: list[Message], turns: Sequence[TurnMemory]
) -> tuple[dict[int, TurnMemory], dict[int, list[TurnMemory]]]:
    """Turns by the place of the message they follow, and those by what they come before.

    The last user message began the present turn, so no earlier turn belongs to it.
    """
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    end = users.pop() if users else len(messages)
    after: dict[int, TurnMemory] = {}
    before: dict[int, list[TurnMemory]] = {}
    for turn in reversed(turns):
        same = [
            u for u in users if remembered_words(_text(messages[u].get("content"))) == turn.user
        ]
        if same:
            end = same[-1]
            after[end] = turn
            users = [user for user in users if user < end]
        else:
            before.setdefault(end, []).insert(0, turn)
    before[FIRST] = before.pop(end, [])
    return after, before


def _answered(messages: Sequence[Message]) -> Iterator[Message]:
    """Directly after each call its result, a stand-in where there is none."""
    results = iter(_results(messages))
    taken: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            continue
        calls = [call for call in message.get("tool_calls") or () if isinstance(call, Mapping)]
        if not calls:
            yield {key: value for key, value in message.items() if key != "tool_calls"}
            continue
        found = next(results)
        sound_calls = [_sound_call(call, taken) for call in calls]
        yield {**message, "tool_calls": sound_calls}
        for call, sound_call in zip(calls, sound_calls, strict=True):
            waiting = found.get(_id(call))
            given = waiting.pop(0) if waiting else {"content": wording.NOT_EXECUTED}
            yield {**given, "role": "tool", "tool_call_id": sound_call["id"]}


def _results(messages: Iterable[Message]) -> list[dict[str, list[Message]]]:
    """For each message with calls the results up to the next one, by the id they name."""
    found: list[dict[str, list[Message]]] = []
    for message in messages:
        if any(isinstance(call, Mapping) for call in message.get("tool_calls") or ()):
            found.append({})
        elif message["role"] == "tool" and found:
            found[-1].setdefault(str(message.get("tool_call_id") or ""), []).append(message)
    return found


def _sound_call(call: Mapping[str, Any], taken: set[str]) -> dict[str, Any]:
    """The call with an id of its own, and a name and arguments that can be sent."""
    wanted = _id(call) or "call"
    unique, number = wanted, 1
    while unique in taken:
        number += 1
        unique = f"{wanted}_{number}"
    taken.add(unique)
    function: Any = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    return {
        **call,
        "id": unique,
        "type": "function",
        "function": {
            "name": safe_word(str(function.get("name") or "")) or "unnamed",
            "arguments": _arguments(function.get("arguments")),
        },
    }


def _id(call: Mapping[str, Any]) -> str:
    return str(call.get("id") or "")


def _arguments(given: Any) -> str:
    """A JSON object as text (case B16)."""
    try:
        parsed = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        return "{}"
    return given if isinstance(given, str) else json.dumps(parsed)


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Neighbours of one role as one message, blank ones left out, results never blank."""
    merged: list[Message] = []
    for message in messages:
        role = message["role"]
        content = (_content if role == "user" else _text)(message.get("content"))
        last = merged[-1] if merged else None
        if role == "tool":
            merged.append({**message, "content": content or wording.NO_RESULT})
        elif not content and not message.get("tool_calls"):
            continue
        elif last and role == last["role"]:
            merged[-1] = {**last, **message, "content": _joined(last["content"], content)}
        else:
            if role == "user" and last and last["role"] == "tool":
                merged.append({"role": "assistant", "content": wording.STOPPED})
            merged.append({**message, "content": content or None})
    return merged


def _closed(messages: list[Message]) -> list[Message]:
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": wording.OPENING})
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": wording.CONTINUE})
    return messages


def _joined(one: Content, other: Content) -> Content:
    if isinstance(one, str) and isinstance(other, str):
        return "\n".join(filter(None, (one, other)))
    return [*_parts(one), *_parts(other)]


def _parts(content: Content) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _content(content: Any) -> Content:
    """What a user said: text, or parts where some are no text, such as images."""
    parts = [part for part in content if isinstance(part, Mapping)] if _listed(content) else []
    kept = [part for part in parts if not _is_text(part) or _text([part])]
    return kept if any(not _is_text(part) for part in kept) else _text(content)


def _text(content: Any) -> str:
    """Text of a message's content, blank text as empty."""
    if _listed(content):
        texts = (part.get("text") for part in content if isinstance(part, Mapping))
        content = "\n".join(text for text in texts if isinstance(text, str) and visible(text))
    return sound(content) if isinstance(content, str) and visible(content) else ""


def _listed(content: Any) -> bool:
    return isinstance(content, list | tuple)


def _is_text(part: Mapping[str, Any]) -> bool:
    return part.get("type", "text") == "text"
