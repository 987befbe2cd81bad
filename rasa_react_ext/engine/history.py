"""Message lists that every provider accepts.

Rules (design D3.8): one system message, first; then a user turn; neighbours of
one role merged; every call answered directly after its message; no empty text;
the last message never the assistant's. Nothing here decides what is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.memory import Memory, TurnMemory
from rasa_react_ext.engine.message import Message

__all__ = ["conversation", "with_instruction"]


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


def _split_system(messages: Iterable[Message]) -> tuple[str, list[Message]]:
    instructions: list[str] = []
    rest: list[Message] = []
    for message in messages:
        if message.get("role") in {"system", "developer"}:
            instructions.append(_text(message.get("content")))
        else:
            rest.append(message)
    return "\n\n".join(text for text in instructions if text), rest


def _weave(messages: list[Message], turns: Sequence[TurnMemory], model: str) -> list[Message]:
    """Put each turn's steps behind the user message that started it.

    Turns whose user message has left the window go first, with that message, so
    that what was learnt stays known. Filler texts that the steps hold are not
    repeated as plain assistant messages.
    """
    places = _places(messages, turns)
    woven: list[Message] = []
    early = [turn for turn, place in zip(turns, places, strict=True) if place is None]
    for turn in early:
        woven.append({"role": "user", "content": turn.user})
        woven.extend(_turn_messages(turn, model))
    spoken: list[str] = []
    for index, message in enumerate(messages):
        text = _text(message.get("content"))
        if message.get("role") == "assistant" and text in spoken:
            spoken.remove(text)
            continue
        woven.append(message)
        for turn, place in zip(turns, places, strict=True):
            if place == index:
                woven.extend(_turn_messages(turn, model))
                spoken = [step.text for step in turn.steps if step.text]
    return woven


def _places(messages: list[Message], turns: Sequence[TurnMemory]) -> list[int | None]:
    places: list[int | None] = []
    end = len(messages)
    for turn in reversed(turns):
        place = next(
            (
                index
                for index in range(end - 1, -1, -1)
                if messages[index].get("role") == "user"
                and _text(messages[index].get("content")) == turn.user
            ),
            None,
        )
        places.append(place)
        end = end if place is None else place
    return places[::-1]


def _turn_messages(turn: TurnMemory, model: str) -> list[Message]:
    steps = [step if step.model == model else step.without_extras() for step in turn.steps]
    return [message for step in steps for message in step.messages()]


def _answered(messages: list[Message]) -> list[Message]:
    """Directly after each call its result, a stand-in where there is none."""
    results: dict[str, Message] = {
        str(message.get("tool_call_id")): message
        for message in messages
        if message.get("role") == "tool"
    }
    paired: list[Message] = []
    for message in messages:
        if message.get("role") == "tool":
            continue
        paired.append(message)
        for call in message.get("tool_calls") or ():
            result = results.pop(str(call.get("id")), None)
            paired.append(
                result
                or {
                    "role": "tool",
                    "tool_call_id": call.get("id"),
                    "content": wording.NOT_EXECUTED,
                }
            )
    return paired


def _merged(messages: Iterable[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        plain = not message.get("tool_calls")
        text = _text(message.get("content"))
        if plain and not text:
            continue
        last = merged[-1] if merged else None
        if last and plain and _joins(last, message):
            last["content"] = f"{last['content']}\n{text}"
        elif message["role"] == "user" and last and last["role"] == "tool":
            merged.append({"role": "assistant", "content": wording.STOPPED})
            merged.append(dict(message))
        elif message.get("tool_calls") and last and _is_plain_assistant(last):
            content = "\n".join(filter(None, (last["content"], text)))
            merged[-1] = {**message, "content": content}
        elif plain:
            merged.append(dict(message))
        else:
            merged.append({**message, "content": text or None})
    return merged


def _joins(last: Message, message: Message) -> bool:
    same = last["role"] == message["role"] and last["role"] in {"user", "assistant"}
    return same and not last.get("tool_calls") and isinstance(last["content"], str)


def _is_plain_assistant(message: Message) -> bool:
    return message["role"] == "assistant" and not message.get("tool_calls")


def _closed(messages: list[Message]) -> list[Message]:
    if not messages or messages[0]["role"] != "user":
        messages.insert(0, {"role": "user", "content": wording.OPENING})
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": wording.CONTINUE})
    return messages


def _text(content: Any) -> str:
    """Text of a message's content, blank text as empty."""
    if isinstance(content, list):
        parts = [part.get("text", "") for part in content if isinstance(part, dict)]
        content = "\n".join(part for part in parts if part)
    return content if isinstance(content, str) and content.strip() else ""
