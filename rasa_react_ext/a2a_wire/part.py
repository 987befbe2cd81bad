"""Parts of messages and artifacts as text, data and files, and the message we send."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

from a2a.types import Message, Part, Role
from google.protobuf.json_format import MessageToDict, ParseDict

__all__ = [
    "artifact_text",
    "data_of",
    "file_of",
    "message_text",
    "outbound_message",
    "parts_text",
    "structured_entries",
]


def data_of(part: Part) -> Any:
    """The JSON value of a data part, whole numbers as integers; None if it is none."""
    return MessageToDict(part.data) if part.HasField("data") else None


def file_of(part: Part) -> dict[str, Any] | None:
    """A file part: its address, or its content as base64; None if it is none."""
    known = {"name": part.filename or None, "mime_type": part.media_type or None}
    if part.HasField("url") and part.url:
        return {"uri": part.url, **known}
    if part.HasField("raw"):
        return {"bytes": base64.b64encode(part.raw).decode("ascii"), **known}
    return None


def parts_text(parts: Iterable[Part]) -> str:
    """What a user is shown of some parts: texts and file addresses, one per line."""
    lines: list[str] = []
    for part in parts:
        if part.HasField("text"):
            lines.append(part.text)
        elif part.HasField("url") and part.url:
            lines.append(f"File: {part.url}")
        elif part.HasField("raw"):
            lines.append(f"File: {part.filename or part.media_type or 'unnamed'}")
    return "\n".join(lines).strip()


def artifact_text(parts: Iterable[Part]) -> str:
    """What a user is shown of an artifact, whose texts may be the pieces of a stream.

    Nothing in the protocol tells pieces from paragraphs. They are joined as they are, unless
    one ends as a sentence does and the next begins as one, with no space between them.
    """
    shown = ""
    for part in parts:
        text = part.text if part.HasField("text") else parts_text([part])
        if not text:
            continue
        apart = not part.HasField("text") or _is_paragraph(shown, text)
        shown += f"\n{text}" if shown and apart else text
    return shown.strip()


def _is_paragraph(before: str, after: str) -> bool:
    last = before.rpartition("\n")[2]
    ends = before[-1:] in ".!?:" and " " in last
    return last.startswith("File: ") or (ends and (after[:1].isupper() or after[:2] in _BULLETS))


_BULLETS = ("- ", "* ")


def message_text(message: Message) -> str:
    """What a user is shown of a message."""
    return parts_text(message.parts)


def structured_entries(agent: str, groups: Iterable[Iterable[Part]]) -> list[dict[str, Any]]:
    """Data and files as the host documents them for `structured_results`.

    Args:
        agent: Name of the agent, the first part of each entry's name.
        groups: Parts by artifact; the status message counts as one more artifact.
    """
    entries: list[dict[str, Any]] = []
    for group_index, parts in enumerate(groups):
        for part_index, part in enumerate(parts):
            name = f"{agent}_{group_index}_{part_index}"
            if part.HasField("data"):
                value = data_of(part)
                # Documented readers call `.get` on a result.
                result = value if isinstance(value, dict) else {"value": value}
                entries.append({"name": name, "type": "data", "result": result})
            elif (file := file_of(part)) is not None:
                entries.append({"name": name, "type": "file", "result": file})
    return entries


def outbound_message(
    text: str,
    *,
    slots: Mapping[str, Any],
    metadata: Mapping[str, Any],
    context_id: str = "",
    task_id: str = "",
) -> Message:
    """The message for one user turn, with an id of its own.

    Args:
        text: What the user said, or the conversation so far.
        slots: Shared slots by name; sent as one data part where there are any.
        metadata: JSON values for `Message.metadata`, which no model sees.
        context_id: The agent's context, if there is one.
        task_id: The open task this replies to, if there is one.

    Raises:
        ValueError: A slot or metadata value is no JSON.
    """
    message = Message(
        message_id=str(uuid4()), role=Role.ROLE_USER, context_id=context_id, task_id=task_id
    )
    message.parts.append(Part(text=text))
    if slots:
        part = Part(media_type="application/json")
        ParseDict({"slots": dict(slots)}, part.data)
        message.parts.append(part)
    if metadata:
        ParseDict(dict(metadata), message.metadata)
    return message
