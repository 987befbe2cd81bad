"""Questions of servers to the user, in one agent turn.

A call that asks something ends the turn with the question and goes on with the next
user message. What has to outlive the turn is the call itself, in this process, and a
note in the conversation that says where it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rasa.shared.core.events import UserUttered

from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.memory import Memory, TurnMemory, remembered_words
from rasa_react_ext.engine.source import Wrapper
from rasa_react_ext.engine.step import CallRecord, Step
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.host.mcp.form import Speech
from rasa_react_ext.host.mcp.open_call import OpenCall, OpenCalls, lost
from rasa_react_ext.host.mcp.settings import ElicitationWords
from rasa_react_ext.host.mcp.words import NO, YES

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.host.mcp.settings import ToolSettings

__all__ = ["Questions", "kept_ids"]

WAIT_SECONDS = 300.0
WAITING = "Not finished: it waits for the user's answer."
_WORDS = ElicitationWords()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A call that an earlier turn left open.

    Attributes:
        id: Where it is in this process, if it is.
        call_id: Id of the model's call.
        tool: As much of the tool as a lost call needs.
        number: Of the question that the user was asked; 0 if it was not.
    """

    id: str
    call_id: str
    tool: Tool
    number: int


class Questions:
    """The open questions of one agent turn.

    Args:
        settings: The agent's settings.
        calls: Open calls of the process.
        agent_input: The turn's input.
        kept: What `to_json` gave in the turn before, or nothing.
        resumed: Whether the host resumes the run after something else, so that the
            message is not the user's.
    """

    def __init__(
        self,
        settings: ToolSettings,
        calls: OpenCalls,
        agent_input: AgentInput,
        kept: object,
        *,
        resumed: bool,
    ) -> None:
        self.asks = settings.elicitation == "ask"
        self.calls = calls
        self._settings = settings
        self._input = agent_input
        self._kept = {one.call_id: one for one in _read(kept)}
        self._message = None if resumed else agent_input.user_message
        self._open: dict[str, OpenCall] = {}
        for one in self._kept.values():
            if (call := calls.get(one.id)) is not None:
                self._open[one.call_id] = call

    def resumed(self, memory: Memory) -> tuple[Planned, ...]:
        """The calls that go on, in the order they were made in."""
        planned: list[Planned] = []
        for position, kept in enumerate(self._kept.values()):
            call = self._open.get(kept.call_id)
            record = memory.call(kept.call_id)
            written = json.loads(record.arguments) if record is not None else {}
            planned.append(
                Planned(
                    position=position,
                    id=kept.call_id,
                    name=kept.tool.name,
                    tool=call.tool if call is not None else kept.tool,
                    arguments=call.arguments if call is not None else written,
                )
            )
        return tuple(planned)

    def recall(self, memory: Memory) -> Memory:
        """The memory, in which each open call has a place for its result."""
        missing = [p for p in self.resumed(memory) if memory.call(p.id) is None]
        if not missing:
            return memory
        calls = (
            CallRecord(id=p.id, name=p.name, arguments=p.arguments_json, result=WAITING)
            for p in missing
        )
        said = [e.text or "" for e in self._input.events if isinstance(e, UserUttered)]
        before = said[-2] if len(said) > 1 else ""
        turn = TurnMemory(user=remembered_words(before), steps=(Step(calls=tuple(calls)),))
        return replace(memory, turns=(*memory.turns, turn))

    def around(self, source: ToolSource) -> ToolSource:
        """The tools, whose calls may ask the user."""
        return _Asked(source, self) if self.asks or self._kept else source

    def first(self, source: ToolSource, direct: ToolSource) -> ToolSource:
        """The tools, whose open calls go on whether their names are still known or not.

        Args:
            source: All tools.
            direct: Where the calls come from that may ask.
        """
        return _Direct(source, direct, self) if self._kept else source

    def is_kept(self, call_id: str) -> bool:
        """Whether an earlier turn left this call open."""
        return call_id in self._kept

    async def go_on(self, call_id: str, context: CallContext) -> ToolResult:
        """Go on with a call of an earlier turn."""
        kept, call = self._kept[call_id], self._open.get(call_id)
        if call is None:
            return lost(kept.tool)
        if self._message is not None:
            call.hear(self._message, kept.number)
        return await self._outcome(call, context)

    async def begin(
        self, source: ToolSource, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Make a call that may ask."""
        settings = self._settings
        call = OpenCall(
            tool,
            arguments,
            conversation=_conversation(self._input),
            speech=Speech(
                words=settings.elicitation_words or _WORDS,
                yes=settings.confirm_yes or YES,
                no=settings.confirm_no or NO,
            ),
            wait_seconds=settings.elicitation_wait_seconds or WAIT_SECONDS,
        )
        call.start(lambda lasting: source.call(tool, arguments, lasting), context)
        self.calls.add(call)
        return await self._outcome(call, context)

    async def _outcome(self, call: OpenCall, context: CallContext) -> ToolResult:
        """Wait; the call is kept only if the user is to be asked."""
        parked = False
        try:
            result = await call.outcome(context)
            parked = call.task is not None and not call.task.done()
        finally:
            if not parked:
                self._open.pop(context.call_id, None)
                self.calls.drop(call)
        if parked:
            self._open[context.call_id] = call
        return result

    def to_json(self, said: str) -> list[dict[str, Any]]:
        """Where the open calls are.

        Args:
            said: The text the turn ended with: it asks the first call with these words.
        """
        asks = (one for one, call in self._open.items() if said and call.question == said)
        asked = next(asks, "")
        return [
            {
                "id": call.id,
                "call_id": call_id,
                "name": call.tool.name,
                "tool": call.tool.origin_name,
                "origin": call.tool.origin,
                "read_only": call.tool.read_only,
                "number": call.number if call_id == asked else 0,
            }
            for call_id, call in self._open.items()
        ]

    def end(self) -> None:
        """The run does not go on: nobody will ever answer."""
        for call in self._open.values():
            self.calls.drop(call)
        self._open.clear()


class _Asked(Wrapper):
    """Calls that may ask the user, and those that an earlier turn left open."""

    def __init__(self, source: ToolSource, questions: Questions) -> None:
        super().__init__(source)
        self._questions = questions

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Make or go on with a call; Python tools have no server that could ask."""
        questions = self._questions
        if questions.is_kept(context.call_id):
            return await questions.go_on(context.call_id, context)
        if not questions.asks or not tool.origin or questions.calls.full:
            return await self._source.call(tool, arguments, context)
        return await questions.begin(self._source, tool, arguments, context)


class _Direct(Wrapper):
    """Leads calls of an earlier turn past what routes calls by the tools of the moment."""

    def __init__(self, source: ToolSource, direct: ToolSource, questions: Questions) -> None:
        super().__init__(source)
        self._direct = direct
        self._questions = questions

    def derive(self, under: Sequence[Tool]) -> Sequence[Tool]:
        """The tools as they are."""
        return under

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Make the call, or go on with it."""
        kept = self._questions.is_kept(context.call_id)
        return await (self._direct if kept else self._source).call(tool, arguments, context)


def kept_ids(notes: Mapping[str, Any]) -> set[str]:
    """Names of the open calls that a run's notes know of."""
    return {one.id for one in _read(notes.get("open"))}


def _read(kept: object) -> Iterator[_Kept]:
    """What `to_json` wrote; damaged entries are left out."""
    for each in kept if isinstance(kept, list) else ():
        if not isinstance(each, Mapping) or not each.get("id") or not each.get("call_id"):
            continue
        number = each.get("number")
        tool = Tool(
            name=str(each.get("name") or "tool"),
            description="",
            parameters={},
            origin=str(each.get("origin") or ""),
            origin_name=str(each.get("tool") or ""),
            read_only=bool(each.get("read_only")),
        )
        yield _Kept(
            id=str(each["id"]),
            call_id=str(each["call_id"]),
            tool=tool,
            number=number if isinstance(number, int) else 0,
        )


def _conversation(agent_input: AgentInput) -> str:
    metadata = agent_input.metadata or {}
    return str(agent_input.recipient_id or metadata.get("sender_id") or "")
