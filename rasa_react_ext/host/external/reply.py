"""The text of an agent's reply, without what the user has already seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rasa_react_ext.a2a_wire import artifact_text, message_text

if TYPE_CHECKING:
    from rasa_react_ext.a2a_wire import Task

__all__ = ["full_reply", "unsent_reply"]


def full_reply(task: Task) -> str:
    """Status message and artifacts, each text once."""
    status = message_text(task.status.message) if task.status.HasField("message") else ""
    texts = [status] if status else []
    for artifact in task.artifacts:
        text = artifact_text(artifact.parts)
        if text and not any(_place(_lines(seen), _lines(text)) >= 0 for seen in texts):
            texts.append(text)
    return "\n".join(texts)


def unsent_reply(reply: str, shown: Sequence[str]) -> str | None:
    """What of a reply was not shown yet; None if nothing was shown on the way.

    Each shown text takes one equal passage out of the reply, the last first.
    """
    if not shown:
        return None
    lines: list[str | None] = list(reply.splitlines())
    for text in reversed(shown):
        wanted = _lines(text)
        kept = [(number, line) for number, line in enumerate(lines) if line and line.strip()]
        place = _place([" ".join(str(line).split()) for _, line in kept], wanted)
        if place >= 0:
            for number, _ in kept[place : place + len(wanted)]:
                lines[number] = None
    rest = "\n".join(line for line in lines if line is not None)
    return re.sub(r"\n{3,}", "\n\n", rest).strip()


def _lines(text: str) -> list[str]:
    """Lines with words in them, spaces made equal."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _place(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """Where the wanted lines stand last among others; -1 if nowhere."""
    if not wanted:
        return -1
    for place in range(len(lines) - len(wanted), -1, -1):
        if list(lines[place : place + len(wanted)]) == list(wanted):
            return place
    return -1
