"""Conducts one agent turn: host input in, engine run, host output out."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import structlog
from rasa.agents.core.types import AgentStatus, ProtocolType
from rasa.agents.schemas import AgentOutput
from rasa.shared.agents.utils import make_agent_identifier

from rasa_react_ext.engine.decision import Outcome, Rules, Run
from rasa_react_ext.engine.driver import Driver, TurnResult
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.occurrence import RunEnded
from rasa_react_ext.engine.source import Combined
from rasa_react_ext.host import arrival
from rasa_react_ext.host.credential import Credentialed
from rasa_react_ext.host.delivery import Delivery
from rasa_react_ext.host.exit_slot import ExitSlots
from rasa_react_ext.host.hooked_model import (
    HookedModel,
    OwnClient,
    has_own_client,
    has_own_generation,
)
from rasa_react_ext.host.journal import Journalled
from rasa_react_ext.host.limit import budget_of, memory_limit, rules_of
from rasa_react_ext.host.mcp.tool_turn import ToolTurn
from rasa_react_ext.host.observe.asked_model import asked_model
from rasa_react_ext.host.observe.fan import Fan
from rasa_react_ext.host.observe.trace_file import TurnLabel
from rasa_react_ext.host.own_execution import OwnExecution
from rasa_react_ext.host.python_tool import PythonTools
from rasa_react_ext.host.record import TrackerRecord
from rasa_react_ext.host.stop import stoppable
from rasa_react_ext.host.turn import HostTurn

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.engine.port import ChatModel, ToolSource
    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["conduct"]

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
        async with stoppable(arrival.token.get()) as scope:
            result = await turn.driver.drive()
        if scope.cancelled_caught:
            result = turn.driver.stop()
    except asyncio.CancelledError:
        turn.abandon()
        raise
    except Exception as error:  # noqa: BLE001 - hooks are users' code
        output = turn.failed(error)
    else:
        output = turn.output(result)
    await turn.journalled.ended()
    return output


class _Turn:
    """The parts of one turn, put together from the agent and its input."""

    def __init__(
        self, agent: ReActAgent, agent_input: AgentInput, channel: OutputChannel | None
    ) -> None:
        came = arrival.take_arrival(agent_input.id)
        metadata = agent_input.metadata or {}
        self._agent = agent
        self._input = agent_input
        protocol = ProtocolType.MCP_TASK if metadata.get("exit_if") else ProtocolType.MCP_OPEN
        agent_id = str(make_agent_identifier(agent.name, protocol))
        recipient = agent_input.recipient_id or metadata.get("sender_id")
        delivery = Delivery(channel, recipient)
        self._delivered = delivery.possible
        turn_id = uuid4().hex
        python_tools = PythonTools(agent, agent_input)
        beside = python_tools.events
        self._record = TrackerRecord(
            agent, agent_input, agent_id, turn=turn_id, delivery=delivery, beside=beside
        )
        flow, step = arrival.current_step()
        limit = memory_limit(agent)
        self._tools = ToolTurn(
            agent.settings, agent_input, came.memory, (flow, step), agent.process
        )
        memory = Memory.from_json(came.memory if limit else None, flow=flow, step=step)
        self._memory = self._tools.recall(memory)
        exit_slots = ExitSlots(agent_input, came.exit_slots)
        self._record.extend(exit_slots.restore(self._memory.slots))
        built_in = agent.built_in_definitions(exit_slots.with_input())
        label = _label(agent, agent_input, turn_id, flow, step)
        self._observer = Fan(self._record, agent.process.watchers(label))
        slots = exit_slots.values()
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
        rules = self._with_owed(rules_of(agent, exit_slots, built_in))
        run = Run(rules=rules, slots=slots)
        self.journalled = self._journalled(python_tools, turn_id)
        self._metadata = agent.get_llm_tracing_metadata(agent_input)
        source = self._tools.around(self.journalled, self._own_model, self._metadata)
        self.driver = self._driver(run, self._model(channel), source)

    def _with_owed(self, rules: Rules) -> Rules:
        """The rules, with what earlier turns left to be done first."""
        resumed = self._tools.resumed(self._memory)
        return replace(rules, owes_answer=self._tools.owes_answer, resumed=resumed)

    def _driver(self, run: Run, model: ChatModel, source: ToolSource) -> Driver:
        return Driver(
            run=run,
            conversation=self.host,
            model=model,
            source=source,
            observer=self._observer,
            clock=WallClock(),
            budget=budget_of(self._agent),
            memory=self._memory,
            metadata=self._metadata,
        )

    def _model(self, channel: OutputChannel | None) -> ChatModel:
        """The model of the agent, or the user's code that stands in its place."""
        if has_own_generation(self._agent):
            return HookedModel(self._agent, self._input, channel)
        return self._own_model()

    def _own_model(self) -> ChatModel:
        """The model itself, whose answers go to nobody."""
        return OwnClient(self._agent) if has_own_client(self._agent) else self._agent.model()

    def _journalled(self, python_tools: PythonTools, turn: str) -> Journalled:
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
        if not waiting:
            self._tools.end()
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
        self._tools.end()
        run = self.driver.run
        self._observer.on(
            RunEnded(
                outcome=Outcome.FAILED,
                reason=f"{type(error).__name__}: {error}",
                kind=type(error).__name__,
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

    def abandon(self) -> None:
        """The task was cancelled: close what watches the turn; the host drops the events."""
        self.driver.stop()
        self._tools.end()

    def _structured_results(self) -> list[list[dict[str, Any]]]:
        return self._agent.structured_results(self._input, self.host.results)

    def _kept(self, result: TurnResult) -> dict[str, Any] | None:
        """The run's memory, for the host to keep with the conversation."""
        limit = memory_limit(self._agent)
        memory: dict[str, Any] | None = None
        if limit is not None:
            run = result.run
            memory = (
                self._memory.with_results(run.settled)
                .with_turn(self._input.user_message, run.steps, run.slots_set, limit_bytes=limit)
                .to_json()
            )
        kept = self._tools.with_notes(memory, result.text)
        return {arrival.MEMORY_KEY: kept} if kept is not None else None


def _label(
    agent: ReActAgent, agent_input: AgentInput, turn: str, flow: str, step: str
) -> TurnLabel:
    metadata = agent_input.metadata or {}
    # After an interruption the host speaks in the user's place.
    came_back = metadata.get("resumed_after_interruption")
    return TurnLabel(
        conversation=str(agent_input.recipient_id or metadata.get("sender_id") or ""),
        turn=turn,
        agent=agent.name,
        flow=flow,
        step=step,
        user="" if came_back else agent_input.user_message,
        model=asked_model(agent.llm_client),
    )
