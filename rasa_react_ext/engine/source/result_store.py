"""Results too large for a model's view: cut for it, kept whole beside the run.

How a run uses it: one `ResultStore` per run; `Bounded(source, store)` around its
tools cuts what is too long; `StoredResults(store)` beside them offers `read_result`
as soon as something was cut. The store lives in memory, so what it holds can be read
until the process or the run ends.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from rasa_react_ext.engine.port import ToolSource
from rasa_react_ext.engine.source.wrapper import Wrapper
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

__all__ = ["READ_RESULT", "Bounded", "ResultStore", "StoredResults"]

_TAIL_SHARE = 4
_SMALLEST_VIEW = 500
_ID_LENGTH = 10

READ_RESULT = Tool(
    name="read_result",
    description="Read more of a tool result that was too long to be shown whole.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Id of the result, from the note in it."},
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "Number of the first character to read; the first one is 0.",
            },
        },
        "required": ["id", "offset"],
        "additionalProperties": False,
    },
    read_only=True,
    idempotent=True,
)
"""The built-in tool that pages through stored results."""


class ResultStore:
    """Whole texts of one run, the oldest given up when room runs out.

    Args:
        max_chars: Characters kept in all.
        page_chars: Characters of one page.

    Attributes:
        size: Characters kept now.
    """

    def __init__(self, *, max_chars: int = 20_000_000, page_chars: int = 8_000) -> None:
        self._max_chars = max_chars
        self._page_chars = page_chars
        self._texts: OrderedDict[str, str] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._texts)

    def keep(self, text: str) -> str:
        """Keep a text; returns its id, which no other text has, in this store or any.

        A text larger than all the room is kept alone.
        """
        key = f"r{sha256(text.encode(errors='surrogatepass')).hexdigest()[:_ID_LENGTH]}"
        if key in self._texts:
            self._texts.move_to_end(key)
            return key
        self._texts[key] = text
        self.size += len(text)
        while self.size > self._max_chars and len(self._texts) > 1:
            _, oldest = self._texts.popitem(last=False)
            self.size -= len(oldest)
        return key

    def read(self, key: str, offset: int) -> ToolResult:
        """One page of a stored text, with a note that says where it stands."""
        text = self._texts.get(key)
        if text is None:
            known = ", ".join(self._texts) or "none"
            return _error(
                f"Result {key!r} is no longer stored. Stored results: {known}. Call the tool "
                "again if the rest is needed."
            )
        if not 0 <= offset < len(text):
            return _error(f"Result {key} has {len(text)} characters; offset {offset} is not in it.")
        end = min(offset + self._page_chars, len(text))
        rest = f"; go on with offset {end}" if end < len(text) else "; this is the end"
        note = f"[characters {offset} to {end} of {len(text)} of result {key}{rest}]"
        return ToolResult(text=f"{note}\n{text[offset:end]}")


class Bounded(Wrapper):
    """Cuts results to head and tail, and keeps the whole text in a store.

    Calls that run at the same time share the room: four huge results of one answer
    take no more of the model's view than one.

    Args:
        source: Source of the tools.
        store: Takes the whole texts.
        max_chars: Characters a result may have, and all results of simultaneous calls.
    """

    def __init__(self, source: ToolSource, store: ResultStore, *, max_chars: int = 24_000) -> None:
        super().__init__(source)
        self._store = store
        self._max_chars = max_chars
        self._running = 0
        self._most = 0

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Call the tool; a result that is too long says how to read the rest."""
        self._running += 1
        self._most = max(self._most, self._running)
        try:
            result = await self._source.call(tool, arguments, context)
            return self._cut(result, max(_SMALLEST_VIEW, self._max_chars // self._most))
        finally:
            self._running -= 1
            if not self._running:
                self._most = 0

    def _cut(self, result: ToolResult, room: int) -> ToolResult:
        text = result.text
        if len(text) <= room:
            return result
        key = self._store.keep(text)
        tail = room // _TAIL_SHARE
        head = room - tail
        note = (
            f"[{len(text) - room} of {len(text)} characters left out here; "
            f'read them with {READ_RESULT.name}(id="{key}", offset={head})]'
        )
        shown = f"{text[:head]}\n{note}\n{text[-tail:]}"
        return replace(result, text=shown, whole=result.whole or text)


class StoredResults:
    """Offers `read_result` once the store holds something.

    Args:
        store: The store.
        offered: Whether the tool is offered at once, because notes of earlier turns name it.
    """

    def __init__(self, store: ResultStore, *, offered: bool = False) -> None:
        self._store = store
        self._always = offered
        self._offered = (READ_RESULT,)

    async def tools(self) -> Sequence[Tool]:
        """The tool, once there is something to read."""
        return self._offered if self._always or len(self._store) else ()

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Read one page."""
        return self._store.read(str(arguments.get("id", "")), int(arguments.get("offset") or 0))

    def missing(self) -> Sequence[str]:
        """Nothing is ever missing."""
        return ()


def _error(text: str) -> ToolResult:
    return ToolResult(text=text, is_error=True)
