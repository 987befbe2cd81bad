"""Conducts one agent turn: host input in, engine run, host output out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import structlog
from rasa.agents.core.types import AgentStatus, ProtocolType
from rasa.agents.schemas import AgentOutput
from rasa.shared.agents.utils import make_agent_identifier
from rasa.shared.core.events import SlotSet

from rasa_react_ext.engine.budget import Budget
from rasa_react_ext.engine.decision import Outcome, Rules, Run
from rasa_react_ext.engine.driver import Driver, TurnResult
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.occurrence import RunEnded
from rasa_react_ext.engine.slot import SlotSpec
from rasa_react_ext.engine.source import Combined
from rasa_react_ext.host import arrival
from rasa_react_ext.host.condition import ExitConditions, slot_names
from rasa_react_ext.host.credential import Credentialed
from rasa_react_ext.host.deadline import turn_deadline
from rasa_react_ext.host.delivery import Delivery
from rasa_react_ext.host.hooked_model import (
    HookedModel,
    OwnClient,
    has_own_client,
    has_own_generation,
)
from rasa_react_ext.host.journal import Journalled
from rasa_react_ext.host.observe.fan import Fan
from rasa_react_ext.host.observe.trace_file import TurnLabel
from rasa_react_ext.host.own_execution import OwnExecution
from rasa_react_ext.host.python_tool import PythonTools
from rasa_react_ext.host.record import TrackerRecord
from rasa_react_ext.host.turn import HostTurn

if TYPE_CHECKING:
    from rasa.agents.core.cancellation import CancellationToken
    from rasa.agents.schemas import AgentInput
    from rasa.agents.schemas.agent_input import AgentInputSlot
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.engine.port import ChatModel, ToolSource
    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["conduct"]

MEMORY_LIMIT_BYTES = 32_768
PARALLEL_TOOLS = 16
_STATUS = {
    Outcome.COMPLETED: AgentStatus.COMPLETED,
    Outcome.INPUT_REQUIRED: AgentStatus.INPUT_REQUIRED,
    Outcome.FAILED: AgentStatus.FATAL_ERROR,
    Outcome.CANCELLED: AgentStatus.CANCELLED,
}
_log = structlog.get_logger()


class WallClock:
    """Real time."""

    def monotonic(self) -> float:
        """Seconds that only grow."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await anyio.sleep(seconds)


async def conduct(
    agent: ReActAgent, agent_input: AgentInput, channel: OutputChannel | None
) -> AgentOutput:
    """Do one turn of an agent.

    Whatever a user's hook raises ends the turn as a failure that keeps every event
    so far; only cancellation of the task itself is passed on.
    """
    await agent.process.enter(agent)
    turn = _Turn(agent, agent_input, channel)
    try:
        async with _stoppable(arrival.token.get()) as scope:
            result = await turn.driver.drive()
        if scope.cancelled_caught:
            result = turn.driver.stop()
    except asyncio.CancelledError:
        turn.driver.stop()  # Closes what watches the turn; the host drops the events.
        raise
    except Exception as error:  # noqa: BLE001 - hooks are users' code
        return turn.failed(error)
    return turn.output(result)


@asynccontextmanager
async def _stoppable(token: CancellationToken | None) -> AsyncGenerator[anyio.CancelScope]:
    """A scope that the host's cancellation token ends at once."""
    if token is None:
        with anyio.CancelScope() as scope:
            yield scope
        return
    scope = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        group.start_soon(_watch, token, scope)
        try:
            with scope:
                yield scope
        finally:
            group.cancel_scope.cancel()


async def _watch(token: CancellationToken, scope: anyio.CancelScope) -> None:
    await token.wait_until_cancelled()
    scope.cancel()


class _Turn:
    """The parts of one turn, put together from the agent and its input."""

    def __init__(
        self, agent: ReActAgent, agent_input: AgentInput, channel: OutputChannel | None
    ) -> None:
        came = arrival.take_arrival(agent_input.id)
        metadata = agent_input.metadata or {}
        self._agent = agent
        self._input = agent_input
        self._exit_if = list(metadata.get("exit_if") or ())
        protocol = ProtocolType.MCP_TASK if self._exit_if else ProtocolType.MCP_OPEN
        agent_id = str(make_agent_identifier(agent.name, protocol))
        recipient = agent_input.recipient_id or metadata.get("sender_id")
        delivery = Delivery(channel, recipient, agent.name)
        self._delivered = delivery.possible
        turn_id = uuid4().hex
        python_tools = PythonTools(agent, agent_input)
        self._record = TrackerRecord(
            agent,
            agent_input,
            agent_id,
            turn=turn_id,
            delivery=delivery,
            beside=python_tools.events,
        )
        flow, step = arrival.current_step()
        self._memory = self._remembered(came.memory, flow, step)
        exit_slots = _with_exit_slots(agent_input, came.exit_slots)
        self._restore_slots(exit_slots)
        built_in = agent.built_in_definitions(_with_slots(agent_input, exit_slots))
        slots = self._slot_values(exit_slots)
        label = TurnLabel(
            conversation=str(recipient or ""),
            turn=turn_id,
            agent=agent.name,
            flow=flow,
            step=step,
            user=agent_input.user_message,
        )
        self._observer = Fan(self._record, agent.process.watchers(label))
        self.host = HostTurn(
            agent,
            agent_input,
            channel=channel,
            delivery=delivery,
            record=self._record,
            python_tools=python_tools,
            built_in=built_in,
            slots=slots,
        )
        self.driver = Driver(
            run=Run(rules=self._rules(exit_slots, built_in), slots=slots),
            conversation=self.host,
            model=self._model(channel),
            source=self._source(python_tools, turn_id),
            observer=self._observer,
            clock=WallClock(),
            budget=self._budget(),
            memory=self._memory,
            metadata=agent.get_llm_tracing_metadata(agent_input),
        )

    def _model(self, channel: OutputChannel | None) -> ChatModel:
        """The model of the agent, or the user's code that stands in its place."""
        if has_own_generation(self._agent):
            return HookedModel(self._agent, self._input, channel)
        return OwnClient(self._agent) if has_own_client(self._agent) else self._agent.model()

    def _source(self, python_tools: PythonTools, turn: str) -> ToolSource:
        agent, agent_input = self._agent, self._input
        mcp_tools = Credentialed(agent.mcp_tools, agent, agent_input)
        source: ToolSource = Combined([mcp_tools, python_tools])
        if agent.executes_itself:
            source = OwnExecution(source, agent, agent_input)
        return Journalled(source, agent.process.journal, agent_input, turn)

    def output(self, result: TurnResult) -> AgentOutput:
        """The host's output for how the turn ended."""
        status = _STATUS[result.outcome]
        waiting = status is AgentStatus.INPUT_REQUIRED
        text = result.text if self._delivered else self.host.undelivered
        return AgentOutput(
            id=self._input.id,
            status=status,
            response_message=text or None,
            unsent_response_message="" if waiting and self._delivered else None,
            events=self._record.events,
            structured_results=self._structured_results(),
            metadata=self._kept(result) if waiting else None,
            error_message=result.reason or None if status is AgentStatus.FATAL_ERROR else None,
        )

    def failed(self, error: Exception) -> AgentOutput:
        """The output when a user's hook or a setting broke the turn."""
        _log.error(
            "rasa_react_ext.turn.failed",
            agent_name=self._agent.name,
            error=f"{type(error).__name__}: {error}",
            event_info=f"The turn of agent {self._agent.name!r} failed in a hook: {error}",
            exc_info=error,
        )
        run = self.driver.run
        self._observer.on(
            RunEnded(
                outcome=Outcome.FAILED,
                reason=f"{type(error).__name__}: {error}",
                model_calls=run.model_calls,
                tokens=run.tokens,
            )
        )
        return AgentOutput(
            id=self._input.id,
            status=AgentStatus.FATAL_ERROR,
            events=self._record.events,
            structured_results=self._structured_results(),
            error_message=f"{type(error).__name__}: {error}",
        )

    def _structured_results(self) -> list[list[dict[str, Any]]]:
        return self._agent.structured_results(self._input, self.host.results)

    def _kept(self, result: TurnResult) -> dict[str, Any] | None:
        """The run's memory, for the host to keep with the conversation."""
        if self._agent.settings.memory == "off":
            return None
        memory = self._memory.with_turn(
            self._input.user_message,
            result.run.steps,
            result.run.slots_set,
            limit_bytes=self._agent.settings.memory_limit_bytes or MEMORY_LIMIT_BYTES,
        )
        return {arrival.MEMORY_KEY: memory.to_json()}

    def _remembered(self, stored: Any, flow: str, step: str) -> Memory:
        if self._agent.settings.memory == "off":
            return Memory(flow=flow, step=step)
        return Memory.from_json(stored, flow=flow, step=step)

    def _restore_slots(self, exit_slots: Sequence[AgentInputSlot]) -> None:
        """Undo the host's wipe of exit slots in later turns of a restarted run (D3.3)."""
        if not self._input.metadata.get("restarted"):
            return
        slots = {slot.name: slot for slot in (*exit_slots, *self._input.slots)}
        for name, value in self._memory.slots.items():
            if name in slots and slots[name].value is None and value is not None:
                for slot in (*exit_slots, *self._input.slots):
                    if slot.name == name:
                        slot.value = value
                self._record.extend([SlotSet(name, value)])

    def _rules(
        self, exit_slots: Sequence[AgentInputSlot], built_in: Sequence[Mapping[str, Any]]
    ) -> Rules:
        settings = self._agent.settings
        return Rules(
            max_steps=settings.max_steps or self._agent.MAX_ITERATIONS,
            max_tokens=settings.max_tokens,
            max_repeats=settings.max_repeats or 3,
            on_limit=settings.on_limit or "ask",
            on_cancel=settings.on_cancel or "wait",
            fillers=self._agent.fillers or has_own_generation(self._agent),
            slots=self._slot_rules(exit_slots, built_in) if self._exit_if else {},
            completes="" if self._exit_if else "task_completed",
            condition=ExitConditions(self._exit_if, self._agent.name) if self._exit_if else None,
        )

    def _slot_rules(
        self, exit_slots: Sequence[AgentInputSlot], built_in: Sequence[Mapping[str, Any]]
    ) -> dict[str, SlotSpec]:
        offered = {definition["function"]["name"] for definition in built_in}
        specs: dict[str, SlotSpec] = {}
        for slot in exit_slots:
            name = self._agent.get_slot_specific_set_slot_tool(slot)["function"]["name"]
            if name in offered:
                specs[name] = SlotSpec(
                    name=slot.name,
                    type=slot.type,
                    allowed_values=tuple(slot.allowed_values or ()),
                    check=self._agent.slot_checks.get(slot.name),
                )
        return specs

    def _slot_values(self, exit_slots: Sequence[AgentInputSlot]) -> dict[str, Any]:
        slots = (*exit_slots, *self._input.slots)
        return {slot.name: slot.value for slot in slots}

    def _budget(self) -> Budget:
        settings = self._agent.settings
        now = time.monotonic()
        deadline = turn_deadline(self._agent.turn_timeout)
        return Budget(
            deadline=deadline,
            closing_seconds=Budget.closing_share(max(0.0, deadline - now)),
            tool_timeout_seconds=self._agent.tool_timeout,
            max_parallel_tools=settings.max_parallel_tools or PARALLEL_TOOLS,
            model_retries=2 if settings.model_retries is None else settings.model_retries,
        )


def _with_exit_slots(
    agent_input: AgentInput, kept: Sequence[AgentInputSlot]
) -> list[AgentInputSlot]:
    """The exit slots, also those that a user's `process_input` removed (D3.4)."""
    present = {slot.name: slot for slot in agent_input.slots}
    if kept:
        return [present.get(slot.name, slot) for slot in kept]
    names = slot_names(list(agent_input.metadata.get("exit_if") or ()))
    return [present[name] for name in names if name in present]


def _with_slots(agent_input: AgentInput, slots: Sequence[AgentInputSlot]) -> AgentInput:
    """An input that holds these slots too, for hooks that look them up by name."""
    present = {slot.name for slot in agent_input.slots}
    missing = [slot for slot in slots if slot.name not in present]
    if not missing:
        return agent_input
    return agent_input.model_copy(update={"slots": [*agent_input.slots, *missing]})
