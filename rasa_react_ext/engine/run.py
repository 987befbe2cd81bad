"""The rules of a run: what follows from what just happened.

Pure and synchronous. Each function takes the state of one agent turn and an
occurrence, and returns the new state with the actions the driver must perform,
in order. Every rule that changes a run's state is in this file (design D3).

    begin ─► Ask ─► answered ─┬─ text ─────────────────────────► Finish
                              └─ calls ─► Execute ─► ran ─► Review ─► reviewed ─► Ask …
    limit or completion without text ─► Ask(closing) ─► answered ─► Finish
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.batch import Batch, Planned, plan
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
from rasa_react_ext.engine.message import ModelAnswer
from rasa_react_ext.engine.step import CallRecord, Step
from rasa_react_ext.engine.tool import ToolResult

__all__ = ["answered", "begin", "cancelled", "model_failed", "out_of_time", "ran", "reviewed"]

Decision = tuple[Run, tuple[Action, ...]]
_T = TypeVar("_T")

CUT_REASONS = {"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"}
BLANKS_ALLOWED = 2


def begin(run: Run) -> Decision:
    """Start a turn: a task whose conditions already hold is done without a model call."""
    if run.exit_met():
        return _finish(run, Outcome.COMPLETED)
    return run, (Ask(),)


def answered(run: Run, answer: ModelAnswer, *, shown: bool) -> Decision:
    """Judge a model answer.

    Args:
        run: State before the answer.
        answer: The answer, read raw.
        shown: Whether the user has already seen its text (streaming).
    """
    run = replace(
        run,
        model_calls=run.model_calls + 1,
        tokens=run.tokens + (answer.usage.total if answer.usage else 0),
    )
    speech = Speech(answer=answer, shown=shown)
    filtered = answer.finish_reason == "content_filter" or (answer.refusal and not answer.text)
    if filtered:
        said = _said(speech, "filler") if shown else ()
        return _finish(
            run,
            Outcome.FAILED,
            reason="The model's content filter stopped the answer.",
            before=said,
        )
    if run.closing is not None:
        return _closed(run, speech)
    if not answer.calls:
        return _spoke(run, speech) if answer.text.strip() else _blank(run)
    return _called(replace(run, blanks=0), speech)


def _spoke(run: Run, speech: Speech) -> Decision:
    return _finish(
        run,
        Outcome.INPUT_REQUIRED,
        text=speech.text,
        before=_said(speech, "input_required"),
    )


def _blank(run: Run) -> Decision:
    run = replace(run, blanks=run.blanks + 1)
    if run.blanks > BLANKS_ALLOWED:
        return _finish(run, Outcome.FAILED, reason="The model gave only blank answers.")
    return _next_ask(run)


def _closed(run: Run, speech: Speech) -> Decision:
    """End with the one-turn closing answer; calls in it are not executed."""
    text = speech.text
    if not text and run.blanks < 1:
        return replace(run, blanks=run.blanks + 1), (Ask(closing=run.closing),)
    if run.closing is Closing.COMPLETION:
        said = _said(speech, "final_response") if text else ()
        return _finish(run, Outcome.COMPLETED, before=said)
    return _limit_reached(run, speech)


def _limit_reached(run: Run, speech: Speech | None) -> Decision:
    """Tell the user where things stand; never completed (design D3.6)."""
    if speech is None or not speech.text:
        speech = Speech(answer=ModelAnswer(text=wording.LIMIT_REPLY), shown=False)
    if run.rules.on_limit == "fail":
        return _finish(
            run,
            Outcome.FAILED,
            reason=f"Budget exhausted: {run.limit}.",
            before=_said(speech, "final_response"),
        )
    return _finish(
        run,
        Outcome.INPUT_REQUIRED,
        text=speech.text,
        reason=f"Budget exhausted: {run.limit}.",
        before=_said(speech, "input_required"),
    )


def _called(run: Run, speech: Speech) -> Decision:
    cut = speech.answer.finish_reason in CUT_REASONS
    batch = plan(run, speech, cut=cut)
    said = () if batch.holds_text else _said(speech, "filler", run.rules.fillers)
    batch = replace(batch, text_said=bool(said))
    run = replace(run, batch=batch, used_ids=run.used_ids | {call.id for call in batch.calls})
    return run, (*said, Execute(calls=batch.executable))


def ran(run: Run, results: Mapping[int, ToolResult]) -> Decision:
    """Close a batch: one result for each call, in call order.

    Args:
        run: State with the batch that ran.
        results: Results of the executable calls by position.
    """
    run, actions = _batch_closed(run, results)
    done = _required(run.batch).done
    successes = tuple(c for c in done if c.planned.is_tool and not c.result.is_error)
    if successes:
        return run, (*actions, Review(calls=successes))
    run, after = reviewed(run, {})
    return run, (*actions, *after)


def reviewed(run: Run, changed: Mapping[str, Any]) -> Decision:
    """Go on after a batch and after the user's hook has seen its results.

    Args:
        run: State after `ran`.
        changed: Slots that the hook set.
    """
    batch = _required(run.batch)
    run = replace(
        run,
        slots={**run.slots, **changed},
        slots_set={**run.slots_set, **changed},
        batch=None,
    )
    completed = any(call.planned.completes and not call.result.is_error for call in batch.done)
    if run.exit_met():
        return _finish(run, Outcome.COMPLETED)
    if completed:
        return _completed(run, batch)
    said: tuple[Action, ...] = ()
    if batch.held_for_slots and not batch.text_said:
        said = _said(batch.speech, "filler", run.rules.fillers)
        if said:
            run = _with_text(run, batch.speech.text)
    limit = _exceeded(run)
    if limit:
        return _close_for(run, limit, said)
    run, asks = _next_ask(run)
    return run, (*said, *asks)


def _completed(run: Run, batch: Batch) -> Decision:
    speech = batch.speech
    if not speech.text and (argument := batch.closing_argument):
        speech = Speech(answer=replace(speech.answer, text=argument), shown=False)
    if not speech.text:
        run = replace(run, closing=Closing.COMPLETION, blanks=0)
        return run, (Ask(closing=Closing.COMPLETION),)
    said = () if batch.text_said else _said(speech, "final_response")
    return _finish(run, Outcome.COMPLETED, before=said)


def _exceeded(run: Run) -> str | None:
    rules = run.rules
    if any(count >= rules.max_repeats for _, count in run.repeats.values()):
        return "repeats"
    if any(count >= rules.max_repeats for count in run.refusals.values()):
        return "refusals"
    if rules.max_tokens is not None and run.tokens >= rules.max_tokens:
        return "tokens"
    return None


def _next_ask(run: Run) -> Decision:
    if run.model_calls >= run.rules.max_steps:
        return _close_for(run, "steps")
    return run, (Ask(),)


def _close_for(run: Run, limit: str, before: tuple[Action, ...] = ()) -> Decision:
    run = replace(run, closing=Closing.LIMIT, limit=limit, blanks=0)
    return run, (*before, Ask(closing=Closing.LIMIT))


def out_of_time(run: Run, results: Mapping[int, ToolResult] | None = None) -> Decision:
    """The turn's time is up: answer what is open, then close with what time is left."""
    run, actions = _abandoned(run, results, wording.NOT_EXECUTED)
    if run.closing is not None:
        return _gave_up(replace(run, limit=run.limit or "time"), actions)
    return _close_for(run, "time", actions)


def _gave_up(run: Run, before: tuple[Action, ...]) -> Decision:
    if run.closing is Closing.COMPLETION:
        return _finish(run, Outcome.COMPLETED, before=before)
    run, actions = _limit_reached(run, None)
    return run, (*before, *actions)


def model_failed(run: Run, reason: str) -> Decision:
    """The model stayed unreachable; a closing answer is replaced by a fixed text."""
    if run.closing is not None:
        return _gave_up(run, ())
    return _finish(run, Outcome.FAILED, reason=reason)


def cancelled(run: Run, results: Mapping[int, ToolResult] | None = None) -> Decision:
    """The turn was stopped: close the history, say nothing (design D3.10)."""
    run, actions = _abandoned(run, results, wording.CANCELLED)
    ends = run.rules.on_cancel == "end"
    outcome = Outcome.CANCELLED if ends else Outcome.INPUT_REQUIRED
    return _finish(run, outcome, reason="The turn was cancelled.", before=actions)


def _abandoned(
    run: Run, results: Mapping[int, ToolResult] | None, missing: str
) -> tuple[Run, tuple[Action, ...]]:
    """Answer the calls of an open batch: with what they gave, else with `missing`."""
    if run.batch is None or run.batch.done:
        return replace(run, batch=None), ()
    known = {
        call.position: ToolResult(text=missing, is_error=True, outcome_unknown=True)
        for call in run.batch.executable
    }
    run, actions = _batch_closed(run, {**known, **(results or {})})
    return replace(run, batch=None), actions


def _batch_closed(run: Run, results: Mapping[int, ToolResult]) -> tuple[Run, tuple[Action, ...]]:
    """Answer every call, in call order, and keep the step for the history."""
    batch = _required(run.batch)
    actions: list[Action] = []
    if batch.speech.shown and not batch.text_said:
        failed = batch.failed(results)
        actions.extend(_said(batch.speech, "filler" if failed else "final_response"))
        batch = replace(batch, text_said=True)
    done: list[CallDone] = []
    for call in batch.calls:
        run, result = _carried_out(run, batch, call, results)
        done.append(CallDone(planned=call, result=result))
        actions.append(done[-1])
        if call.slot is not None:
            actions.append(SlotChanged(name=call.slot, value=call.value))
    step = Step(
        text=batch.speech.text if batch.text_said else "",
        calls=tuple(_record(call.planned, call.result) for call in done),
        extra=batch.speech.answer.extra,
        model=batch.speech.answer.model,
    )
    batch = replace(batch, done=tuple(done))
    return replace(run, steps=(*run.steps, step), batch=batch), tuple(actions)


def _carried_out(
    run: Run, batch: Batch, call: Planned, results: Mapping[int, ToolResult]
) -> tuple[Run, ToolResult]:
    if call.refusal is not None:
        run = run if call.superseded else _refused(run, call)
        return run, ToolResult(text=call.refusal, is_error=True)
    if call.slot is not None:
        slots = {**run.slots, call.slot: call.value}
        run = replace(run, slots=slots, slots_set={**run.slots_set, call.slot: call.value})
        return run, ToolResult(text=wording.slot_set(call.slot, call.value))
    if call.completes:
        failed = batch.failed(results)
        if failed:
            return run, ToolResult(text=wording.task_not_accepted(failed), is_error=True)
        return run, ToolResult(text=wording.TASK_ACCEPTED)
    return _counted(run, call, results[call.position])


def _counted(run: Run, call: Planned, result: ToolResult) -> tuple[Run, ToolResult]:
    """Count equal results of equal calls; point the model at them."""
    last, count = run.repeats.get(call.key, ("", 0))
    count = count + 1 if last == result.text else 1
    run = replace(run, repeats={**run.repeats, call.key: (result.text, count)})
    if count > 1:
        result = replace(result, text=f"{result.text}\n{wording.repeated(count)}")
    return run, result


def _refused(run: Run, call: Planned) -> Run:
    count = run.refusals.get(call.name, 0) + 1
    return replace(run, refusals={**run.refusals, call.name: count})


def _record(call: Planned, result: ToolResult) -> CallRecord:
    return CallRecord(
        id=call.id,
        name=call.name,
        arguments=call.arguments_json,
        result=result.text,
        extra=call.extra,
    )


def _with_text(run: Run, text: str) -> Run:
    return replace(run, steps=(*run.steps[:-1], replace(run.steps[-1], text=text)))


def _said(speech: Speech, kind: str, wanted: bool = True) -> tuple[Action, ...]:
    """The action that delivers and records a text, unless it is blank or unwanted.

    What the user has already seen is always recorded.
    """
    if not speech.text or not (wanted or speech.shown):
        return ()
    return (Say(speech=speech, kind=kind),)


def _finish(
    run: Run,
    outcome: Outcome,
    *,
    text: str = "",
    reason: str = "",
    before: Sequence[Action] = (),
) -> Decision:
    return replace(run, ended=True), (*before, Finish(outcome=outcome, text=text, reason=reason))


def _required(value: _T | None) -> _T:
    if value is None:
        raise AssertionError("The driver reported something that was not asked for.")
    return value
