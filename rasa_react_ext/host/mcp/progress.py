"""Tells the user how far a call is, now and then.

Off unless a text for it is set. What is said is the newest report; it takes the way of
the filler messages and delays neither the call nor its result.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rasa_react_ext.engine.source import Wrapper
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.host.mcp.answer import answering

if TYPE_CHECKING:
    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.mcp_pool import Progress

__all__ = ["Narrated", "progress_text"]

INTERVAL_SECONDS = 5.0
LAST_WORD_SECONDS = 1.0
_LONGEST_TEXT = 500


@dataclass(slots=True)
class _Pace:
    """When the calls of one agent turn may speak; they share it."""

    interval: float
    last: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Narrated(Wrapper):
    """Tools whose progress the user hears of.

    Args:
        source: Source of the tools.
        template: The text, with the parts that the settings name.
        interval_seconds: Time before the first text of a call and between any two.
    """

    def __init__(self, source: ToolSource, template: str, interval_seconds: float | None) -> None:
        super().__init__(source)
        self._template = template
        self._pace = _Pace(interval_seconds or INTERVAL_SECONDS)

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool and speak meanwhile."""
        teller = _Teller(self._template, self._pace, context.tell)
        speaking = asyncio.create_task(teller.speak(), name=f"progress of {tool.name}")
        try:
            with answering(progress=teller.hear):
                result = await self._source.call(tool, arguments, context)
            await teller.finish()
            return result
        finally:
            speaking.cancel()


class _Teller:
    """Speaks for one call."""

    def __init__(self, template: str, pace: _Pace, tell: Callable[[str], Awaitable[None]]) -> None:
        self._template = template
        self._pace = pace
        self._tell = tell
        self._text = ""
        self._news = asyncio.Event()
        self._silent = asyncio.Event()
        self._silent.set()

    def hear(self, report: Progress) -> None:
        """Take a report; the newest counts."""
        if text := progress_text(self._template, report):
            self._text = text
            self._news.set()

    async def speak(self) -> None:
        """Say what is new, as often as the pace allows."""
        clock = asyncio.get_running_loop().time
        began, said = clock(), ""
        while True:
            await self._news.wait()
            async with self._pace.lock:
                pause = max(began, self._pace.last) + self._pace.interval - clock()
                await asyncio.sleep(max(0.0, pause))
                self._news.clear()
                if self._text == said:
                    continue
                self._pace.last, said = clock(), self._text
                self._silent.clear()
                await self._tell(said)
                self._silent.set()

    async def finish(self) -> None:
        """Let a text that is half said be said to its end; a channel that hangs is left."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORD_SECONDS):
                await self._silent.wait()


def progress_text(template: str, report: Progress) -> str:
    """The text for a report; empty where the report lacks a part of it."""
    percent = f"{100 * report.done / report.total:.0f}" if report.total else ""
    parts = {
        "message": report.message.strip()[:_LONGEST_TEXT],
        "done": f"{report.done:g}",
        "total": f"{report.total:g}" if report.total is not None else "",
        "percent": percent,
        "tool": report.tool.origin_name or report.tool.name,
    }
    if not all(parts[name] for name in re.findall(r"{(\w+)}", template)):
        return ""
    return re.sub(r"{(\w+)}", lambda found: parts[found.group(1)], template)
