"""What the pool tells its owner about servers, for logs and checks.

The pool itself writes no logs. Texts never hold headers, tokens or arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["EventKind", "PoolEvent", "Report", "ignore"]

EventKind = Literal[
    "connected",
    "lost",
    "down",
    "tools_bounded",
    "tools_refresh_failed",
    "result_mismatch",
    "bad_message",
    "declined",
    "server_log",
    "stderr",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEvent:
    """Something a person may want to know about a server.

    Attributes:
        kind: What happened.
        server: Name of the server.
        text: One sentence a person can act on.
        data: Facts behind the sentence.
    """

    kind: EventKind
    server: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict[str, Any])


Report = Callable[[PoolEvent], None]
"""Takes one event at once; must not block and must not raise."""


def ignore(event: PoolEvent) -> None:
    """A report for those who want none."""
