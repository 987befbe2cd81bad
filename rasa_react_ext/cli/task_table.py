"""Open tasks and dead letters for people, in colour in a terminal, and as JSON."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rasa_react_ext.store import DeadLetter, RemoteTask
    from rasa_react_ext.store.served_task import StoredTask

__all__ = ["OpenWork", "show_work"]

NAMES = {
    "remote": "Tasks at external agents",
    "served": "Tasks served to callers",
    "dead_letters": "Dead letters",
}
_TIMES = ("created_at", "reported_at", "changed_at", "since")
_IN_JSON_ONLY = frozenset({"agent_task_id", "context_id", "deadline", "created_at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWork:
    """What is open.

    Attributes:
        remote: Tasks of external agents.
        served: Tasks of the A2A server.
        letters: What was given up on.
        more: Whether there is more than what is held here.
    """

    remote: Sequence[RemoteTask]
    served: Sequence[StoredTask]
    letters: Sequence[DeadLetter]
    more: bool

    def to_json(self) -> dict[str, Any]:
        """The same as JSON; times by the clock of the world."""
        return {
            "remote": [_remote(task) for task in self.remote],
            "served": [_served(task) for task in self.served],
            "dead_letters": [_letter(letter) for letter in self.letters],
            "more": self.more,
        }


def show_work(console: Console, work: OpenWork) -> None:
    """Print a table of each kind, or that there is nothing.

    Args:
        console: Where to; a terminal gets colours and borders.
        work: What is open.
    """
    told: dict[str, Any] = work.to_json()
    for kind, name in NAMES.items():
        if told[kind]:
            console.print(Text(f"{name} ({len(told[kind])})", style="bold"))
            _show(console, told[kind])
            console.print()
    if not any(told[kind] for kind in NAMES):
        console.print(Text("Nothing is open, and there are no dead letters.", style="green"))
    if work.more:
        console.print(Text("There is more: see --limit.", style="yellow"))


def _show(console: Console, rows: Sequence[dict[str, Any]]) -> None:
    keys = [key for key in rows[0] if key not in _IN_JSON_ONLY]
    cells = [[_cell(key, row[key]) for key in keys] for row in rows]
    if not console.is_terminal:  # one line each, for other programs
        for line in cells:
            console.file.write("\t".join(text.plain for text in line) + "\n")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for key in keys:
        # An id is there to be copied.
        table.add_column(key.replace("_", " "), overflow="fold", no_wrap=key == "id")
    for line in cells:
        table.add_row(*line)
    console.print(table)


def _cell(key: str, value: Any) -> Text:
    if key in _TIMES:
        return Text(_ago(value))
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    text = " ".join(str("" if value is None else value).split())
    style = {"id": "cyan", "error": "red", "state": "yellow"}.get(key, "")
    return Text(text, style=style)


def _ago(moment: str | None) -> str:
    if moment is None:
        return ""
    seconds = max(0.0, time.time() - datetime.fromisoformat(moment).timestamp())
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def _moment(seconds: float | None) -> str | None:
    if not seconds:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _remote(task: RemoteTask) -> dict[str, Any]:
    state = "parked" if task.parked else "background" if task.background else "waiting"
    return {
        "id": task.key,
        "agent": task.agent,
        "conversation": task.conversation,
        "state": state,
        "said": task.said,
        "agent_task_id": task.task_id,
        "context_id": task.context_id,
        "created_at": _moment(task.created_at),
        "reported_at": _moment(task.said_at or task.created_at),
        "deadline": _moment(task.deadline),
    }


def _served(task: StoredTask) -> dict[str, Any]:
    return {
        "id": task.task_id,
        "caller": task.caller,
        "conversation": task.conversation,
        "state": f"{task.state}, cancel asked for" if task.cancelling else task.state,
        "changed_at": _moment(task.updated_at),
    }


def _letter(letter: DeadLetter) -> dict[str, Any]:
    return {
        "id": letter.id,
        "task": letter.task,
        "party": letter.party,
        "conversation": letter.conversation,
        "attempts": letter.attempts,
        "error": letter.error,
        "task_is_closed": letter.closed,
        "since": _moment(letter.since),
    }
