"""The rules of a run: what follows from what just happened.

Pure and synchronous. Each function takes the state of one agent turn and an
occurrence, and returns the new state with the actions the driver must perform,
in order. Every rule that changes a run's state is in this file (design D3).

    begin ─► Ask ─► answered ─┬─ text ─────────────────────────► Finish
                              └─ calls ─► Execute ─► ran ─► Review ─► reviewed ─► Ask …
    begin with calls of an earlier turn ─► Execute ─► ran ─► as above
    limit or completion without text ─► Ask(closing) ─► answered ─► Finish

At any time: `cancelled` and `overdue` answer what is open and end the turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from rasa_react_ext.engine import wording
from rasa_react_ext.engine.batch import (
    NOT_EXECUTED,
    Batch,
    Planned,
    answer_to,
    counted,
    plan,
    told,
)
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
from rasa_react_ext.engine.tool import Tool, ToolResult

__all__ = [
    "answered",
    "begin",
    "cancelled",
    "heard_of",
    "model_failed",
    "offered",
    "out_of_time",
    "overdue",
    "ran",
    "reviewed",
]

Decision = tuple[Run, tuple[Action, ...]]
_T = TypeVar("_T")

CUT_REASONS = {"length", "max_tokens", "max_output_tokens", "MAX_TOKENS"}
BLANKS_ALLOWED = 2
CLOSING_BLANKS_ALLOWED = 1


def begin(run: Run) -> Decision:
    """Start a turn: a task whose conditions already hold is done without a model call.

    Calls of an earlier turn that still run come before everything else.
    """
    if run.rules.resumed:
        speech = Speech(answer=ModelAnswer(), shown=False)
        batch = Batch(speech=speech, calls=run.rules.resumed, cut=False, resumed=True)
        return replace(run, batch=batch), (Execute(calls=batch.executable),)
    if run.exit_met() and not run.rules.owes_answer:
        return _finish(run, Outcome.COMPLETED)
    return run, (Ask(),)


def offered(run: Run, tools: Iterable[Tool]) -> Run:
    """The tools that may be called from now on; calls of others are refused."""
    return replace(run, tools={tool.name: tool for tool in tools})


def heard_of(run: Run, ids: Iterable[str]) -> Run:
    """Call ids that the history holds already, so that no call gets them again (case B25)."""
    return replace(run, used_ids=run.used_ids.union(ids))


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
    if answer.finish_reason == "content_filter" or (answer.refusal and not speech.text):
        return _withheld(run, speech)
    if run.closing is not None:
        return _closed(run, speech)
    if answer.calls:
        return _called(replace(run, blanks=0), speech)
    return _spoke(run, speech) if speech.text else _blank(run)


def _withheld(run: Run, speech: Speech) -> Decision:
    """A content filter stopped the answer: only what was already seen is recorded (case B34)."""
    seen = _said(speech, "filler", wanted=False)
    if run.closing is not None:
        return _gave_up(run, seen)
    reason = "The model's content filter stopped the answer."
    return _finish(run, Outcome.FAILED, reason=reason, kind="content_filter", before=seen)


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
        reason = "The model gave only blank answers."
        return _finish(run, Outcome.FAILED, reason=reason, kind="blank_answers")
    return _next_ask(run)


def _closed(run: Run, speech: Speech) -> Decision:
    """End with the one-turn closing answer; calls in it are not executed."""
    if not speech.text and run.blanks < CLOSING_BLANKS_ALLOWED:
        return replace(run, blanks=run.blanks + 1), (Ask(closing=run.closing),)
    if run.closing is Closing.COMPLETION:
        return _finish(run, Outcome.COMPLETED, before=_said(speech, "final_response"))
    return _limit_reached(run, speech)


def _limit_reached(run: Run, speech: Speech) -> Decision:
    """Tell the user where things stand; never completed (design D3.6)."""
    fails = run.rules.on_limit == "fail"
    if not speech.text and not fails:
        speech = Speech(answer=ModelAnswer(text=wording.LIMIT_REPLY), shown=False)
    return _finish(
        run,
        Outcome.FAILED if fails else Outcome.INPUT_REQUIRED,
        text="" if fails else speech.text,
        reason=f"Budget exhausted: {run.limit}.",
        kind=f"{run.limit}_limit" if fails else "",
        before=_said(speech, "final_response" if fails else "input_required"),
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
    run = replace(_with_slots(run, changed), batch=None)
    completed = any(call.planned.completes and not call.result.is_error for call in batch.done)
    if question := next((c.result.question for c in batch.done if c.result.question), ""):
        return _questioned(run, question)
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


def _questioned(run: Run, question: str) -> Decision:
    """A call waits for the user's word, so nothing else may end or continue the run."""
    said = _said(Speech(answer=ModelAnswer(text=question), shown=False), "input_required")
    return _finish(run, Outcome.INPUT_REQUIRED, text=question, before=said)


def _completed(run: Run, batch: Batch) -> Decision:
    speech = batch.speech
    if not speech.text and (argument := batch.closing_argument):
        speech = Speech(answer=replace(speech.answer, text=argument), shown=False)
    if not speech.text:
        run = replace(run, closing=Closing.COMPLETION)
        return run, (Ask(closing=Closing.COMPLETION),)
    said = () if batch.text_said else _said(speech, "final_response")
    return _finish(run, Outcome.COMPLETED, before=said)


def _exceeded(run: Run) -> str | None:
    rules = run.rules
    if any(count >= rules.max_repeats for _, count in run.repeats.values()):
        return "repeats"
    if max((run.cuts, *run.refusals.values())) >= rules.max_repeats:
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


def out_of_time(run: Run) -> Decision:
    """No time is left to ask: close with what is kept for the closing answer."""
    if run.closing is not None:
        return _gave_up(run, ())
    return _close_for(run, "time")


def overdue(run: Run, results: Mapping[int, ToolResult]) -> Decision:
    """Something held the turn until its deadline: answer what is open and end without a model.

    Args:
        run: State, whatever it was doing.
        results: Results of the open calls as far as there are any, by position.
    """
    run, actions = _abandoned(run, results)
    return _gave_up(replace(run, limit=run.limit or "time"), actions)


def _gave_up(run: Run, before: tuple[Action, ...]) -> Decision:
    """The closing answer did not come: an accepted completion stands, a limit is told."""
    if run.closing is Closing.COMPLETION:
        return _finish(run, Outcome.COMPLETED, before=before)
    run, actions = _limit_reached(run, Speech(answer=ModelAnswer(), shown=False))
    return run, (*before, *actions)


def model_failed(run: Run, reason: str) -> Decision:
    """The model stayed unreachable; a closing answer is replaced by a fixed text."""
    if run.closing is not None:
        return _gave_up(run, ())
    return _finish(run, Outcome.FAILED, reason=reason)


def cancelled(run: Run, results: Mapping[int, ToolResult]) -> Decision:
    """The turn was stopped: close the history, say nothing (design D3.10).

    Args:
        run: State, whatever it was doing.
        results: Results of the open calls as far as there are any, by position.
    """
    run, actions = _abandoned(run, results)
    ends = run.rules.on_cancel == "end"
    outcome = Outcome.CANCELLED if ends else Outcome.INPUT_REQUIRED
    return _finish(run, outcome, reason="The turn was cancelled.", before=actions)


def _abandoned(run: Run, results: Mapping[int, ToolResult]) -> tuple[Run, tuple[Action, ...]]:
    """Answer the calls of a batch that is still open."""
    actions: tuple[Action, ...] = ()
    if run.batch is not None and not run.batch.done:
        run = replace(run, batch=replace(run.batch, abandoned=True))
        run, actions = _batch_closed(run, results)
    return replace(run, batch=None), actions


def _batch_closed(run: Run, given: Mapping[int, ToolResult]) -> tuple[Run, tuple[Action, ...]]:
    """Answer every call, in call order, and keep the step for the history."""
    batch = _required(run.batch)
    results = {c.position: told(given.get(c.position, NOT_EXECUTED)) for c in batch.executable}
    run = counted(run, batch, results)
    actions: list[Action] = []
    if batch.speech.shown and not batch.text_said:
        accepted = not (batch.abandoned or batch.failed(results))
        actions.extend(_said(batch.speech, "final_response" if accepted else "filler"))
        batch = replace(batch, text_said=True)
    done: list[CallDone] = []
    for call in batch.calls:
        done.append(CallDone(planned=call, result=answer_to(run, batch, call, results)))
        actions.append(done[-1])
        if call.sets_slot and call.slot is not None:
            run = _with_slots(run, {call.slot: call.value})
            actions.append(SlotChanged(name=call.slot, value=call.value))
    return replace(_kept(run, batch, done), batch=replace(batch, done=tuple(done))), tuple(actions)


def _kept(run: Run, batch: Batch, done: Sequence[CallDone]) -> Run:
    """The run with the batch in its history: as a new step, or as new results of an old one."""
    if batch.resumed:
        results = {call.planned.id: call.result.text for call in done}
        return replace(run, settled={**run.settled, **results})
    step = Step(
        text=batch.speech.text if batch.text_said else "",
        calls=tuple(_record(call.planned, call.result) for call in done),
        extra=batch.speech.answer.extra,
        model=batch.speech.answer.model,
    )
    return replace(run, steps=(*run.steps, step))


def _with_slots(run: Run, changed: Mapping[str, Any]) -> Run:
    """New values; the same object when nothing changes, so that no prompt is built again."""
    if not changed:
        return run
    return replace(run, slots={**run.slots, **changed}, slots_set={**run.slots_set, **changed})


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
    kind: str = "",
    before: Sequence[Action] = (),
) -> Decision:
    finish = Finish(outcome=outcome, text=text, reason=reason, kind=kind)
    return replace(run, ended=True), (*before, finish)


def _required(value: _T | None) -> _T:
    if value is None:
        raise AssertionError("The driver reported something that was not asked for.")
    return value
