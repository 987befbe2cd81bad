"""No tool runs twice because a turn was lost (design D3.7).

A turn whose process was killed, or whose lock was lost, leaves no trace in the
conversation. Calls of tools that do not declare themselves repeatable are noted
before they run; when the message is repeated, an equal call is answered with
"outcome unknown" once, instead of running again.

A turn is known to be saved when the conversation shows its calls. A conversation
shows its current session only, and one in memory ends with its process, so a turn that
came to its end is taken for saved where the conversation began after it, and some
minutes later in any case.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio
import structlog
from rasa.shared.core.events import McpToolExecuted
from sqlalchemy.exc import SQLAlchemyError

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.store import Journal, JournalEntry

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.engine.port import ToolSource

__all__ = ["Journalled"]

LOOK_BACK = 2000
UNSAVED_SECONDS = 600.0
"""How long after its end a turn that the conversation does not show counts as lost."""

_log = structlog.get_logger()


class Journalled:
    """Tools of one agent turn, with calls noted before they run."""

    def __init__(
        self, source: ToolSource, journal: Journal, agent_input: AgentInput, turn: str
    ) -> None:
        self._source = source
        self._journal = journal
        self._conversation = str(
            agent_input.recipient_id or agent_input.metadata.get("sender_id") or ""
        )
        self._agent = agent_input.id
        self._events = agent_input.events
        self._turn = turn
        self._lost: dict[str, str] | None = None
        self._reading = anyio.Lock()
        self._noted = False

    async def tools(self) -> Sequence[Tool]:
        """The tools of the source."""
        return await self._source.tools()

    def missing(self) -> Sequence[str]:
        """What is missing at the source."""
        return self._source.missing()

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Run a call, unless an equal one of a lost turn may already have run."""
        if tool.repeatable:
            return await self._source.call(tool, arguments, context)
        key = _key(tool, arguments)
        try:
            if await self._was_lost(key):
                return _unknown(tool)
            await self._note(key)
        except (SQLAlchemyError, OSError) as error:
            _report(error)
        return await self._source.call(tool, arguments, context)

    async def ended(self) -> None:
        """The agent's turn is over; what remains is that the host saves it."""
        if not self._noted:
            return
        try:
            place = (self._conversation, self._agent, self._turn)
            await self._journal.expire_in(UNSAVED_SECONDS, *place)
        except (SQLAlchemyError, OSError) as error:
            _report(error)

    async def _note(self, key: str) -> None:
        self._noted = True
        entry = JournalEntry(turn=self._turn, call_key=key)
        await self._journal.write(self._conversation, self._agent, entry)

    async def _was_lost(self, key: str) -> bool:
        """Whether a lost turn began this call; told once, unless this turn is lost too."""
        async with self._reading:
            if self._lost is None:
                self._lost = await self._read()
        turn = self._lost.pop(key, None)
        if turn is None:
            return False
        await self._note(key)
        await self._journal.forget(self._conversation, self._agent, [turn], call_key=key)
        return True

    async def _read(self) -> dict[str, str]:
        """Calls of lost turns by key; notes of saved and of old turns are removed."""
        await self._journal.forget_old()
        entries = await self._journal.entries(self._conversation, self._agent)
        earlier = {entry.turn for entry in entries} - {self._turn}
        saved = self._saved(earlier) | self._before({e for e in entries if e.turn in earlier})
        if saved:
            await self._journal.forget(self._conversation, self._agent, saved)
        return {e.call_key: e.turn for e in entries if e.turn in earlier - saved}

    def _before(self, entries: set[JournalEntry]) -> set[str]:
        """Turns that had ended when the conversation began."""
        began = self._events[0].timestamp if self._events else 0.0
        return {e.turn for e in entries if e.expires_at - UNSAVED_SECONDS < began}

    def _saved(self, turns: set[str]) -> set[str]:
        """Turns of which the conversation holds an executed tool."""
        saved: set[str] = set()
        for event in reversed(self._events[-LOOK_BACK:]):
            if saved == turns:
                break
            if isinstance(event, McpToolExecuted):
                batch = str((event.metadata or {}).get("tool_batch_id") or "")
                saved |= {batch.partition("/")[0]} & turns
        return saved


def _key(tool: Tool, arguments: Mapping[str, Any]) -> str:
    call = json.dumps([tool.origin, tool.origin_name or tool.name, arguments], sort_keys=True)
    return hashlib.sha256(call.encode()).hexdigest()


def _unknown(tool: Tool) -> ToolResult:
    return ToolResult(
        text=(
            f"{tool.name} was not called: the same call was begun before an interruption and its "
            "outcome is unknown. Check whether it took effect. If it did not, call it again."
        ),
        is_error=True,
        outcome_unknown=True,
    )


def _report(error: Exception) -> None:
    _log.error(
        "rasa_react_ext.store.unavailable",
        error=type(error).__name__,
        event_info=(
            "The store could not be reached, so this tool call is not protected against running "
            f"twice after a crash ({type(error).__name__}). Check rasa_react_ext: store in "
            "endpoints.yml."
        ),
    )
