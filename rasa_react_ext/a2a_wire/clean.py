"""Takes out of what a peer says the characters that no database holds.

PostgreSQL refuses U+0000 in a text, and half a surrogate pair is no character at all.
"""

from __future__ import annotations

from typing import Any, TypeVar

from google.protobuf.message import Message

__all__ = ["clean", "clean_json", "clean_text"]

_NUL = "\x00"
_M = TypeVar("_M", bound=Message)


def clean_text(text: str) -> str:
    """A text without the characters."""
    return text.replace(_NUL, "").encode("utf-8", "ignore").decode("utf-8")


def clean_json(value: Any) -> Any:
    """A JSON value without the characters, names of members included."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [clean_json(item) for item in value]
    return value


def clean(message: _M) -> _M:
    """The message itself, changed in place; the bytes of files stay as they are."""
    # Most are clean, and this is much faster than to look at each field.
    if _NUL.encode() in message.SerializeToString():
        _clean_fields(message)
    return message


def _clean_fields(message: Message) -> None:
    for field, value in message.ListFields():
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            _clean_map(value, field.message_type.fields_by_name["value"].message_type is not None)
        elif field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                _clean_fields(part)
        elif field.type == field.TYPE_STRING and field.is_repeated:
            value[:] = [clean_text(text) for text in value]
        elif field.type == field.TYPE_STRING:
            setattr(message, field.name, clean_text(value))


def _clean_map(entries: Any, of_messages: bool) -> None:
    for key in list(entries):
        if of_messages:
            _clean_fields(entries[key])
        elif isinstance(entries[key], str):
            entries[key] = clean_text(entries[key])
        if isinstance(key, str) and _NUL in key:
            if of_messages:
                entries[clean_text(key)].CopyFrom(entries[key])
            else:
                entries[clean_text(key)] = entries[key]
            del entries[key]
