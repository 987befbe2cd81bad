"""Assembles the deltas of a streamed answer into one answer.

Servers differ in where they put ids, names, indexes and finish reasons; every
rule about that is here. No I/O.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any, cast

from rasa_react_ext.engine.message import ModelAnswer, TokenUsage, ToolCall
from rasa_react_ext.host.chat.answer import (
    argument_text,
    call_extra,
    content_text,
    first_choice,
    mapping,
    mappings,
    message_extra,
    read_usage,
    refusal_text,
    text_of,
)
from rasa_react_ext.host.chat.thought import ThoughtFilter

__all__ = ["Assembly"]

_GROWING = frozenset({"reasoning_content", "reasoning", "thinking", "text", "summary", "signature"})
"""Fields whose string fragments are joined; of all others the last value counts."""


@dataclass(slots=True)
class _Call:
    """A tool call that is still growing."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        """Whether the arguments so far are a complete JSON object."""
        try:
            return isinstance(json.loads(self.arguments or ""), dict)
        except ValueError:
            return False


class Assembly:
    """One streamed answer, delta by delta."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._calls: list[_Call] = []
        self._thoughts = ThoughtFilter()
        self._extra: dict[str, Any] = {}
        self._refusal = ""
        self._finish_reason: str | None = None
        self._usage: TokenUsage | None = None
        self._model = ""

    def feed(self, chunk: Any) -> str:
        """Take one chunk; returns the text that became visible by it."""
        self._model = text_of(mapping(chunk).get("model")) or self._model
        self._usage = read_usage(mapping(chunk).get("usage")) or self._usage
        choice = first_choice(chunk)
        self._finish_reason = text_of(choice.get("finish_reason")) or self._finish_reason
        delta = mapping(choice.get("delta") or choice.get("message"))
        for fragment in mappings(delta.get("tool_calls")):
            self._add_call(fragment)
        self._refusal += refusal_text(delta)
        _merge(self._extra, message_extra(delta))
        return self._shown(self._thoughts.feed(content_text(delta.get("content"))))

    def finish(self) -> str:
        """End the text; returns what was held back."""
        return self._shown(self._thoughts.finish())

    def answer(self) -> ModelAnswer:
        """The answer so far; its text is exactly what was returned as visible."""
        calls = [
            (place if call.index is None else call.index, call)
            for place, call in enumerate(self._calls)
        ]
        return ModelAnswer(
            text="".join(self._text),
            calls=tuple(
                ToolCall(id=call.id, name=call.name, arguments=call.arguments, extra=call.extra)
                for _, call in sorted(calls, key=lambda placed: placed[0])
            ),
            finish_reason=self._finish_reason,
            refusal=self._refusal or None,
            extra=self._extra,
            usage=self._usage,
            model=self._model,
        )

    def _shown(self, text: str) -> str:
        if text:
            self._text.append(text)
        return text

    def _add_call(self, fragment: Mapping[str, Any]) -> None:
        function = mapping(fragment.get("function"))
        call_id, name = text_of(fragment.get("id")), text_of(function.get("name"))
        arguments = argument_text(function.get("arguments"))
        call = self._place(fragment.get("index"), call_id, name, arguments)
        if name and call.whole and arguments == call.arguments:
            return  # the server repeats the finished call
        call.id = call.id or call_id
        call.name = _joined_name(call.name, name)
        if arguments is not None:
            call.arguments = (call.arguments or "") + arguments
        _merge(call.extra, call_extra(fragment))

    def _place(self, index: Any, call_id: str, name: str, arguments: str | None) -> _Call:
        """The call a fragment belongs to: by index, else by id, else the last one."""
        if isinstance(index, int):
            found = [call for call in self._calls if call.index == index]
        else:
            index = None
            found = [call for call in self._calls if call_id and call.id == call_id]
            found = found or [
                call for call in self._calls[-1:] if _may_continue(call, call_id, name)
            ]
        if not found or _begins_another(found[-1], call_id, name, arguments):
            self._calls.append(_Call(index))
            return self._calls[-1]
        return found[-1]


def _may_continue(call: _Call, call_id: str, name: str) -> bool:
    """Whether a fragment without an index can belong to the call before it."""
    other_id = bool(call_id and call.id and call_id != call.id)
    other_name = bool(name and call.name and name != call.name)
    return not other_id and not other_name


def _begins_another(call: _Call, call_id: str, name: str, arguments: str | None) -> bool:
    """Whether a fragment starts a new call although its place is taken.

    Some servers number every call 0 and send each in one piece; others repeat the
    name, or invent a new id, with every fragment of one call.
    """
    if not name or not call.name:
        return False
    other_id = bool(call_id and call.id and call_id != call.id)
    if name != call.name:
        return other_id or call.whole
    same_id = bool(call_id and call_id == call.id)
    return call.whole and not same_id and (other_id or arguments not in (None, "", call.arguments))


def _joined_name(known: str, new: str) -> str:
    if not new or known == new:
        return known
    return new if new.startswith(known) else known + new


def _merge(known: MutableMapping[str, Any], new: Mapping[str, Any]) -> None:
    """Join provider fields that arrive in pieces into those known so far."""
    for key, value in new.items():
        old = known.get(key)
        if isinstance(old, dict) and isinstance(value, Mapping):
            _merge(cast("dict[str, Any]", old), cast("Mapping[str, Any]", value))
        elif isinstance(old, list) and isinstance(value, list):
            for block in cast("list[Any]", value):
                _merge_block(cast("list[Any]", old), block)
        elif isinstance(old, str) and isinstance(value, str) and key in _GROWING:
            known[key] = old + value
        else:
            known[key] = _copied(value)


def _merge_block(blocks: list[Any], block: Any) -> None:
    """Append a block, or grow the last one while it is unsigned and of the same kind."""
    last = blocks[-1] if blocks else None
    same = (
        isinstance(last, dict)
        and isinstance(block, Mapping)
        and all(block.get(key) in (None, last.get(key)) for key in ("type", "index", "id"))
        and not last.get("signature")
        and "data" not in block
    )
    if same:
        _merge(cast("dict[str, Any]", last), cast("Mapping[str, Any]", block))
    else:
        blocks.append(_copied(block))


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
