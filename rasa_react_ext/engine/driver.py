"""Performs what the rules decide: asks the model, runs the tools, speaks, records.

One driver serves one agent turn. It holds the only mutable state of the turn, so
that a turn that is cancelled at any await can still be closed properly (`stop`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from rasa_react_ext.engine import history, wording
from rasa_react_ext.engine import run as rules
from rasa_react_ext.engine.batch import NOT_EXECUTED, Planned
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
    Speech,
)
from rasa_react_ext.engine.memory import Memory
from rasa_react_ext.engine.message import ModelAnswer, ModelRequest
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
    ToolSource,
)
from rasa_react_ext.engine.shown import Shown
from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.engine.transcript import Transcript
from rasa_react_ext.errors import ModelError

__all__ = ["Driver", "TurnResult"]

# A tool source keeps time too and can say more about what happened, so it goes first.
GRACE_SECONDS = 0.1
LAST_WORD_SECONDS = 1.0
SOON_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """How an agent turn ended, and the run's last state."""

    outcome: Outcome
    text: str
    reason: str
    run: Run


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
    _shown: Shown = field(default_factory=lambda: Shown(None))
    _listed: Sequence[Tool] | None = None
    _pending: deque[Action] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._transcript = Transcript(memory=self.memory)
        self._telling = anyio.Lock()

    async def drive(self) -> TurnResult:
        """Run the turn to its end.

        Raises:
            CancelledError: The turn was cancelled; call `stop` to close it.
        """
        with anyio.move_on_after(self._remaining(closing=True)):
            return await self._driven()
        return await self._overdue()

    async def _driven(self) -> TurnResult:
        await self._list_tools()
        self.observer.on(RunStarted(tools=tuple(self.run.tools)))
        self.run, actions = rules.begin(self.run)
        self._pending.extend(actions)
        while True:
            action = self._pending.popleft()
            if isinstance(action, Finish):
                return self._finished(action)
            self._pending.extend(await self._perform(action))

    async def _overdue(self) -> TurnResult:
        """Close a turn that a hook, a channel or a source held until the deadline."""
        if self._shown.text:
            self._record_partial()
        if self.run.ended:
            return self._finished(_end(self._pending))
        self.run, actions = rules.overdue(self.run, self._results)
        with anyio.move_on_after(LAST_WORD_SECONDS):
            for action in actions:
                await self._perform(action)
        return self._finished(_end(actions))

    def stop(self) -> TurnResult:
        """Close a turn whose `drive` was cancelled; takes no time and awaits nothing."""
        if self._shown.text:
            self._record_partial()
        self.run, actions = rules.cancelled(self.run, self._results)
        for action in actions:
            self._record(action)
        return self._finished(_end(actions))

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
                kind=finish.kind,
                model_calls=self.run.model_calls,
                tokens=self.run.tokens,
            )
        )
        return TurnResult(
            outcome=finish.outcome, text=finish.text, reason=finish.reason, run=self.run
        )

    def _remaining(self, *, closing: bool = False) -> float:
        return self.budget.remaining(self.clock.monotonic(), closing=closing)

    async def _ask(self, closing: Closing | None) -> tuple[Action, ...]:
        """One model call with its retries; its answer is judged by the rules."""
        await self._list_tools()
        attempt = 0
        while True:
            attempt += 1
            remaining = self._remaining(closing=closing is not None)
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
                delay = self.budget.retry_delay(error, attempt)
                late = (delay or SOON_SECONDS) >= self._remaining(closing=closing is not None)
                self._model_failed(error, None if late else delay)
                if delay is None or late:
                    return self._gave_up(error, late=late)
                await self.clock.sleep(delay)
            else:
                return self._heard(answer)

    def _heard(self, answer: ModelAnswer) -> tuple[Action, ...]:
        shown, self._shown = bool(self._shown.text), Shown(None)
        self._results, self._durations = {}, {}
        self._transcript.model = answer.model or self._transcript.model
        self.observer.on(ModelAnswered(answer=answer))
        self.run, actions = rules.answered(self.run, answer, shown=shown)
        return actions

    async def _asked(self, request: ModelRequest, *, live: bool) -> ModelAnswer:
        """Ask once; with `live` or fillers on the text is shown as it comes.

        Raises:
            ModelError: The model failed, or took all the time there was.
        """
        streamable = live or self.run.rules.fillers or not request.tools
        self._shown = Shown(self.conversation.stream() if streamable else None)
        sink = None if self._shown.stream is None else self._shown.write
        interrupted = True
        try:
            with anyio.move_on_after(request.timeout_seconds):
                answer = await self.model.ask(request, sink)
                interrupted = False
                return answer
        finally:
            if self._shown.stream is not None:
                await self._shown.stream.close(interrupted=interrupted)
        raise ModelError(
            "model",
            f"The model gave no answer within {request.timeout_seconds:.1f} s.",
            kind="timeout",
        )

    def _model_failed(self, error: ModelError, delay: float | None) -> None:
        if self._shown.text:
            self._record_partial()
        self.observer.on(ModelFailed(kind=error.kind, message=str(error), retry_in_seconds=delay))

    def _gave_up(self, error: ModelError, *, late: bool) -> tuple[Action, ...]:
        """No further attempt: the time was too short for a slow model, or the model is away."""
        if late and error.kind == "timeout":
            self.run, actions = rules.out_of_time(self.run)
        else:
            self.run, actions = rules.model_failed(self.run, str(error))
        return actions

    def _record_partial(self) -> None:
        text, self._shown = self._shown.text.strip(), Shown(None)
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
        tools = self.conversation.offered(self._listed or ())
        if self._transcript.renew(self.conversation.messages(self.run.slots)):
            self.run = rules.heard_of(self.run, history.call_ids(self._transcript.messages(())))
        messages = self._transcript.messages(self.run.steps)
        if not tools:
            messages = history.without_tools(messages)
        if missing := self.source.missing():
            messages = history.with_instruction(messages, wording.missing_tools(missing))
        if closing is Closing.COMPLETION:
            instruction = self.conversation.closing_instruction()
            messages = history.with_instruction(messages, instruction)
        elif closing is Closing.LIMIT:
            goes_on = self.run.rules.on_limit == "ask"
            instruction = wording.limit_request(self.run.limit, goes_on=goes_on)
            messages = history.with_instruction(messages, instruction)
        return ModelRequest(
            messages=messages,
            tools=tools,
            allow_tools=closing is None,
            timeout_seconds=remaining,
            metadata=self.metadata,
        )

    async def _list_tools(self) -> None:
        tools = await self.source.tools()
        if tools is self._listed:
            return
        self._listed = tools
        offered = {
            definition["function"]["name"] for definition in self.conversation.offered(tools)
        }
        self.run = rules.offered(self.run, (tool for tool in tools if tool.name in offered))

    async def _execute(self, calls: Sequence[Planned]) -> tuple[Action, ...]:
        """Run all calls at once, up to the limit; each has a result afterwards."""
        self._results = {call.position: NOT_EXECUTED for call in calls}
        if len(calls) == 1:
            await self._run_tool(calls[0])
        elif calls:
            limiter = anyio.CapacityLimiter(self.budget.max_parallel_tools)
            async with anyio.create_task_group() as group:
                for call in calls:
                    group.start_soon(self._run_limited, call, limiter)
        self.run, actions = rules.ran(self.run, self._results)
        self._transcript.settle(self.run.settled)
        return actions

    async def _run_limited(self, call: Planned, limiter: anyio.CapacityLimiter) -> None:
        async with limiter:
            await self._run_tool(call)

    async def _run_tool(self, call: Planned) -> None:
        started = self.clock.monotonic()
        timeout = min(self.budget.tool_timeout_seconds, self._remaining())
        if call.tool is None or timeout <= 0:
            return
        self.observer.on(CallStarted(call=call))
        unknown = not call.tool.read_only
        broken_off = ToolResult(text=wording.STOPPED_CALL, is_error=True, outcome_unknown=unknown)
        self._results[call.position] = broken_off
        last = anyio.current_time() + max(timeout, self._remaining())
        scope = anyio.move_on_after(timeout + GRACE_SECONDS)

        def alive() -> None:
            scope.deadline = min(anyio.current_time() + timeout, last) + GRACE_SECONDS

        context = CallContext(
            call_id=call.id,
            timeout_seconds=timeout,
            limit_seconds=self._remaining(),
            alive=alive,
            tell=self._tell,
        )
        text = wording.timed_out(call.name, timeout, unknown=unknown)
        result = ToolResult(text=text, is_error=True, outcome_unknown=unknown)
        with scope:
            result = await self._called(call.tool, call, context)
        self._results[call.position] = result
        self._durations[call.position] = (self.clock.monotonic() - started) * 1000

    async def _tell(self, text: str) -> None:
        """Show what a running tool has to say; texts of parallel calls never mix."""
        speech = Speech(answer=ModelAnswer(text=text), shown=False)
        if speech.text:
            async with self._telling:
                await self._perform(Say(speech=speech, kind="filler"))

    async def _called(self, tool: Tool, call: Planned, context: CallContext) -> ToolResult:
        """Call the tool; a source that breaks its promise costs one call, not the turn."""
        try:
            return await self.source.call(tool, call.arguments, context)
        except Exception as error:  # noqa: BLE001 - an error is the model's to repair (case B10)
            problem = f"{type(error).__name__}: {error}"
            return ToolResult(text=wording.failed(call.name, problem), is_error=True)


def _end(actions: Iterable[Action]) -> Finish:
    """The end of a turn, which is always the last action."""
    return next(action for action in actions if isinstance(action, Finish))
