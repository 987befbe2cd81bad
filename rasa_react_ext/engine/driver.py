"""Performs what the rules decide: asks the model, runs the tools, speaks, records.

One driver serves one agent turn. It holds the only mutable state of the turn, so
that a turn that is cancelled at any await can still be closed properly (`stop`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio

from rasa_react_ext.engine import history, run as rules, wording
from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.budget import Budget
from rasa_react_ext.engine.decision import (
    Action,
    Ask,
    CallDone,
    Closing,
    Execute,
    Finish,
    Outcome,
    Review,
    Run,
    Say,
    SlotChanged,
)
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.message import Message, ModelAnswer, ModelRequest
from rasa_react_ext.engine.occurrence import (
    CallFinished,
    CallStarted,
    ModelAnswered,
    ModelAsked,
    ModelFailed,
    RunEnded,
    RunStarted,
    SlotSet,
    Spoke,
)
from rasa_react_ext.engine.port import (
    ChatModel,
    Clock,
    Conversation,
    Observer,
    TextStream,
    ToolSource,
)
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.errors import ModelError

__all__ = ["Driver", "TurnResult"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How an agent turn ended, and the run's last state."""

    outcome: Outcome
    text: str
    reason: str
    run: Run


@dataclass(slots=True)
class _Shown:
    """What of the current answer the user has seen."""

    stream: TextStream | None
    text: str = ""

    async def write(self, delta: str) -> None:
        if self.stream is not None and (self.text or delta.strip()):
            self.text += delta
            await self.stream.write(delta)


@dataclass(kw_only=True)
class Driver:
    """Drives one agent turn to its end.

    Attributes:
        run: State; the caller gives the first one.
        conversation: The host's side of the turn.
        model: The chat model.
        source: All tools but the built-in ones.
        observer: Hears what happens.
        clock: Time.
        budget: The turn's limits in time and number.
        memory: What the run did in earlier turns.
        metadata: Tracing metadata for the model call.
    """

    run: Run
    conversation: Conversation
    model: ChatModel
    source: ToolSource
    observer: Observer
    clock: Clock
    budget: Budget
    memory: Memory = field(default_factory=Memory)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    _results: dict[int, ToolResult] = field(default_factory=dict)
    _durations: dict[int, float] = field(default_factory=dict)
    _shown: _Shown = field(default_factory=lambda: _Shown(None))
    _model_name: str = ""
    _spoken: Sequence[Message] | None = None
    _base: list[Message] = field(default_factory=list)
    _listed: Sequence[Tool] | None = None

    async def drive(self) -> TurnResult:
        """Run the turn to its end.

        Raises:
            CancelledError: The turn was cancelled; call `stop` to close it.
        """
        await self._list_tools()
        self.observer.on(RunStarted(tools=tuple(self.run.tools)))
        self.run, actions = rules.begin(self.run)
        pending: deque[Action] = deque(actions)
        while True:
            action = pending.popleft()
            if isinstance(action, Finish):
                return self._finished(action)
            pending.extend(await self._perform(action))

    def stop(self) -> TurnResult:
        """Close a turn whose `drive` was cancelled; takes no time and awaits nothing."""
        if self._shown.text:
            self._record_partial()
        self.run, actions = rules.cancelled(self.run, self._results)
        for action in actions:
            if isinstance(action, Finish):
                return self._finished(action)
            self._record(action)
        raise AssertionError("A cancelled run finishes.")

    async def _perform(self, action: Action) -> tuple[Action, ...]:
        """Do one thing; what follows from it comes back."""
        if isinstance(action, Ask):
            return await self._ask(action.closing)
        if isinstance(action, Execute):
            return await self._execute(action.calls)
        if isinstance(action, Review):
            changed = await self.conversation.review(action.calls)
            self.run, actions = rules.reviewed(self.run, changed)
            return actions
        if isinstance(action, Say) and not action.speech.shown:
            await self.conversation.send(action.speech.text, action.kind)
        self._record(action)
        return ()

    def _record(self, action: Action) -> None:
        if isinstance(action, Say):
            self.observer.on(
                Spoke(
                    text=action.speech.text,
                    kind=action.kind,
                    answer=action.speech.answer,
                    streamed=action.speech.shown,
                )
            )
        elif isinstance(action, SlotChanged):
            self.observer.on(SlotSet(name=action.name, value=action.value))
        elif isinstance(action, CallDone):
            self.observer.on(
                CallFinished(
                    call=action.planned,
                    result=action.result,
                    duration_ms=self._durations.get(action.planned.position),
                    batch=len(self.run.steps),
                )
            )

    def _finished(self, finish: Finish) -> TurnResult:
        self.observer.on(
            RunEnded(
                outcome=finish.outcome,
                reason=finish.reason,
                model_calls=self.run.model_calls,
                tokens=self.run.tokens,
            )
        )
        return TurnResult(
            outcome=finish.outcome, text=finish.text, reason=finish.reason, run=self.run
        )

    async def _ask(self, closing: Closing | None) -> tuple[Action, ...]:
        """One model call with its retries; its answer is judged by the rules."""
        await self._list_tools()
        attempt = 0
        while True:
            attempt += 1
            remaining = self.budget.remaining(self.clock.monotonic(), closing=closing is not None)
            if remaining <= 0:
                self.run, actions = rules.out_of_time(self.run)
                return actions
            request = self._request(closing, remaining)
            self.observer.on(
                ModelAsked(attempt=attempt, messages=len(request.messages), closing=closing)
            )
            try:
                answer = await self._asked(request, live=closing is not None)
            except ModelError as error:
                if await self._retried(error, attempt, closing):
                    continue
                return self._model_gave_up(error, closing)
            shown, self._shown = bool(self._shown.text), _Shown(None)
            self._model_name = answer.model or self._model_name
            self.observer.on(ModelAnswered(answer=answer))
            self.run, actions = rules.answered(self.run, answer, shown=shown)
            return actions

    async def _asked(self, request: ModelRequest, *, live: bool) -> ModelAnswer:
        """Ask once; with `live` or fillers on the text is shown as it comes."""
        streamable = live or self.run.rules.fillers or not request.tools
        self._shown = _Shown(self.conversation.stream() if streamable else None)
        stream = self._shown.stream
        if stream is None:
            return await self.model.ask(request)
        interrupted = True
        try:
            answer = await self.model.ask(request, self._shown.write)
            interrupted = False
        finally:
            await stream.close(interrupted=interrupted)
        return answer

    async def _retried(self, error: ModelError, attempt: int, closing: Closing | None) -> bool:
        """Wait for another attempt, if one is allowed and still fits."""
        if self._shown.text:
            self._record_partial()
        delay = self.budget.retry_delay(error, attempt)
        now = self.clock.monotonic()
        if delay is not None and delay >= self.budget.remaining(now, closing=closing is not None):
            delay = None
        self.observer.on(ModelFailed(kind=error.kind, message=str(error), retry_in_seconds=delay))
        if delay is None:
            return False
        await self.clock.sleep(delay)
        return True

    def _model_gave_up(self, error: ModelError, closing: Closing | None) -> tuple[Action, ...]:
        now = self.clock.monotonic()
        out_of_time = error.kind == "timeout" and (
            self.budget.remaining(now, closing=closing is not None) <= 0
        )
        if out_of_time:
            self.run, actions = rules.out_of_time(self.run)
        else:
            self.run, actions = rules.model_failed(self.run, str(error))
        return actions

    def _record_partial(self) -> None:
        text, self._shown = self._shown.text.strip(), _Shown(None)
        self.observer.on(
            Spoke(
                text=text,
                kind="filler",
                answer=ModelAnswer(text=text),
                streamed=True,
                interrupted=True,
            )
        )

    def _request(self, closing: Closing | None, remaining: float) -> ModelRequest:
        messages = self._messages()
        if missing := self.source.missing():
            messages = history.with_instruction(messages, wording.missing_tools(missing))
        if closing is Closing.COMPLETION:
            instruction = self.conversation.closing_instruction()
            messages = history.with_instruction(messages, instruction)
        elif closing is Closing.LIMIT:
            instruction = wording.limit_request(self.run.limit)
            messages = history.with_instruction(messages, instruction)
        return ModelRequest(
            messages=messages,
            tools=self.conversation.offered(self._listed or ()),
            allow_tools=closing is None,
            timeout_seconds=remaining,
            metadata=self.metadata,
        )

    def _messages(self) -> list[Message]:
        """What was said, then what this turn has done so far; rebuilt only on change."""
        spoken = self.conversation.messages(self.run.slots)
        if spoken is not self._spoken:
            self._spoken = spoken
            self._base = history.conversation(spoken, self.memory, self._model_name)
        steps = [message for step in self.run.steps for message in step.messages()]
        return [*self._base, *steps]

    async def _list_tools(self) -> None:
        tools = await self.source.tools()
        if tools is self._listed:
            return
        self._listed = tools
        offered = {
            definition["function"]["name"] for definition in self.conversation.offered(tools)
        }
        self.run = replace(
            self.run, tools={tool.name: tool for tool in tools if tool.name in offered}
        )

    async def _execute(self, calls: Sequence[Planned]) -> tuple[Action, ...]:
        """Run all calls at once, up to the limit; each has a result afterwards."""
        self._results, self._durations = {}, {}
        if len(calls) == 1:
            await self._run_tool(calls[0])
        elif calls:
            limiter = anyio.CapacityLimiter(self.budget.max_parallel_tools)
            async with anyio.create_task_group() as group:
                for call in calls:
                    group.start_soon(self._run_limited, call, limiter)
        if self.budget.remaining(self.clock.monotonic()) <= 0:
            self.run, actions = rules.out_of_time(self.run, self._results)
        else:
            self.run, actions = rules.ran(self.run, self._results)
        return actions

    async def _run_limited(self, call: Planned, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            await self._run_tool(call)

    async def _run_tool(self, call: Planned) -> None:
        if call.tool is None:
            return
        started = self.clock.monotonic()
        timeout = min(self.budget.tool_timeout_seconds, self.budget.remaining(started))
        if timeout <= 0:
            self._results[call.position] = ToolResult(text=wording.NOT_EXECUTED, is_error=True)
            return
        self.observer.on(CallStarted(call=call))
        context = CallContext(call_id=call.id, timeout_seconds=timeout)
        result = ToolResult(
            text=wording.timed_out(call.name, timeout), is_error=True, outcome_unknown=True
        )
        with anyio.move_on_after(timeout):
            result = await self.source.call(call.tool, call.arguments, context)
        self._results[call.position] = result
        self._durations[call.position] = (self.clock.monotonic() - started) * 1000
