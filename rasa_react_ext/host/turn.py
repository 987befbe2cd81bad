"""One agent turn, seen from the host: hooks, history, delivery (an engine `Conversation`)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import structlog
from rasa.agents.schemas import AgentToolResult
from rasa.agents.schemas.agent_input import AgentInputSlot
from rasa.shared.core.events import SlotSet

from rasa_react_ext.engine.decision import CallDone
from rasa_react_ext.engine.message import Message
from rasa_react_ext.engine.tool import Tool
from rasa_react_ext.host.definition import offered_definitions
from rasa_react_ext.host.event import as_events
from rasa_react_ext.host.hooked_model import SilentStream, has_own_generation
from rasa_react_ext.host.mcp.offer import fit_provider

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.engine.port import TextStream
    from rasa_react_ext.host.agent import ReActAgent
    from rasa_react_ext.host.delivery import Delivery
    from rasa_react_ext.host.python_tool import PythonTools
    from rasa_react_ext.host.record import TrackerRecord

__all__ = ["HostTurn"]

PROMPT_SECONDS = 60.0
_log = structlog.get_logger()


class HostTurn:
    """The host's side of one agent turn.

    The agent input is shared with users' hooks: slots that the run sets are written
    back to it, and what hooks change in it is seen by the next prompt.
    """

    def __init__(
        self,
        agent: ReActAgent,
        agent_input: AgentInput,
        *,
        channel: OutputChannel | None,
        delivery: Delivery,
        record: TrackerRecord,
        python_tools: PythonTools,
        built_in: Sequence[Mapping[str, Any]],
        slots: Mapping[str, Any],
    ) -> None:
        self.results: dict[str, AgentToolResult] = {}
        self.undelivered = ""
        self._agent = agent
        self._input = agent_input
        self._channel = channel
        self._delivery = delivery
        self._record = record
        self._python_tools = python_tools
        self._built_in = built_in
        self._messages: Sequence[Message] | None = None
        self._built_for: tuple[str, int, float] | None = None
        self._slots = slots
        self._tools: Sequence[Tool] | None = None
        self._definitions: Sequence[Mapping[str, Any]] = ()

    def messages(self, slots: Mapping[str, Any]) -> Sequence[Message]:
        """The messages of the user's hook; built again when something has changed.

        The time in the prompt is at most a minute old, so that a provider's prompt
        cache is not spoilt at every step.
        """
        if slots is not self._slots:
            self._write_back(slots)
        # Hooks may change the input's slots in place, so values are compared.
        values = repr([(slot.name, slot.value) for slot in self._input.slots])
        key = (values, len(self._input.events), time.monotonic() // PROMPT_SECONDS)
        if self._messages is None or key != self._built_for or self._agent.prompt_varies:
            turns = self._agent.settings.history_turns or 10
            self._messages = self._agent.build_messages_for_llm_request(self._input, turns)
            self._built_for = key
        return self._messages

    def _write_back(self, slots: Mapping[str, Any]) -> None:
        known = {slot.name: slot for slot in self._input.slots}
        for name, value in slots.items():
            if self._slots.get(name) == value and name in self._slots:
                continue
            if name in known:
                known[name].value = value
            else:
                self._input.slots.append(AgentInputSlot(name=name, value=value, type="any"))
        self._slots = slots

    def offered(self, tools: Sequence[Tool]) -> Sequence[Mapping[str, Any]]:
        """Definitions as `get_available_tools` gives them."""
        if tools is not self._tools:
            self._tools = tools
            definitions = offered_definitions(
                self._agent,
                tools,
                self._built_in,
                self._input,
                hooked=self._agent.changes_tools,
            )
            self._definitions = fit_provider(self._agent, definitions)
        return self._definitions

    def closing_instruction(self) -> str:
        """The user's hook for a completion without text."""
        message = self._agent.get_system_message_for_empty_content_at_task_completion()
        return str(message["content"])

    def stream(self) -> TextStream | None:
        """A new message to write to, where the channel shows texts as they come."""
        if has_own_generation(self._agent):
            return SilentStream()
        return self._delivery.stream()

    async def send(self, text: str, kind: str) -> None:
        """Deliver a whole text; without a channel the host utters the last one."""
        if self._delivery.possible:
            await self._delivery.send(text)
        elif kind != "filler":
            self.undelivered = text

    async def review(self, calls: Sequence[CallDone]) -> Mapping[str, Any]:
        """Ask `process_tool_output`; returns the slots that it and the executors set.

        Raises:
            Exception: Whatever the user's hook raises; the turn then fails, with
                everything recorded so far.
        """
        batch = {call.planned.id: _hook_result(call) for call in calls}
        self.results.update(batch)
        beside = self._python_tools.events
        events = [event for call_id in tuple(beside) for event in beside.pop(call_id)]
        returned = await self._agent.process_tool_output(batch, self.results, self._channel)
        added = as_events(returned or (), self._name)
        self._record.extend(added)
        events.extend(added)
        self._input.events.extend(events)
        return {event.key: event.value for event in events if isinstance(event, SlotSet)}

    @property
    def _name(self) -> str:
        return self._input.id


def _hook_result(call: CallDone) -> AgentToolResult:
    tool = call.planned.tool
    name = (tool.origin_name or tool.name) if tool else call.planned.name
    return AgentToolResult(tool_name=name, result=call.result.full_text)
