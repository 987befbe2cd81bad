"""The calls of one model answer: judged before anything runs, counted when all are answered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rasa_react_ext.engine import argument, wording
from rasa_react_ext.engine.step import safe_word
from rasa_react_ext.engine.text import sound, visible
from rasa_react_ext.engine.tool import Tool, ToolResult
from rasa_react_ext.errors import FeedbackError

if TYPE_CHECKING:
    from rasa_react_ext.engine.decision import CallDone, Run, Speech
    from rasa_react_ext.engine.message import ToolCall
    from rasa_react_ext.engine.slot import SlotSpec

__all__ = ["NOT_EXECUTED", "Batch", "Planned", "answer_to", "counted", "plan", "told"]

SLOT_VALUE = "slot_value"
UNNAMED = "unnamed"
NOT_EXECUTED = ToolResult(text=wording.NOT_EXECUTED, is_error=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One call after judgement: it runs a tool, sets a slot, completes or is refused.

    Attributes:
        position: Place in the answer, the internal key.
        id: Unique within the run.
        name: Name as stored in history, safe for every provider.
        arguments: Parsed and fitted arguments.
        tool: The tool to run, if it is to be run.
        slot: The slot the call is about, if it is about one.
        value: The slot's converted value.
        completes: The call is about ending the run.
        refusal: Why the call is answered without being carried out.
        extra: Opaque provider fields.
    """

    position: int
    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tool: Tool | None = None
    slot: str | None = None
    value: Any = None
    completes: bool = False
    refusal: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_tool(self) -> bool:
        """Whether a tool runs for this call."""
        return self.tool is not None and self.refusal is None

    @property
    def sets_slot(self) -> bool:
        """Whether the call sets a slot."""
        return self.slot is not None and self.refusal is None

    @property
    def arguments_json(self) -> str:
        """Valid JSON for the history, whatever the model wrote (case B16)."""
        return json.dumps(self.arguments, ensure_ascii=False)

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return f"{self.name} {json.dumps(self.arguments, sort_keys=True)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The calls of one answer and the text beside them.

    Attributes:
        speech: The text beside the calls.
        calls: The calls in the order of the answer.
        cut: The answer was cut off before its end.
        resumed: The calls are an earlier turn's; their answer is in the history already.
        abandoned: The turn ended before the batch did: no completion is accepted.
        text_said: The text is delivered and recorded.
        done: The answered calls, once the batch is closed.
    """

    speech: Speech
    calls: tuple[Planned, ...]
    cut: bool
    resumed: bool = False
    abandoned: bool = False
    text_said: bool = False
    done: tuple[CallDone, ...] = ()

    @property
    def executable(self) -> tuple[Planned, ...]:
        """The calls for which a tool runs."""
        return tuple(call for call in self.calls if call.is_tool)

    @property
    def completing(self) -> bool:
        """Whether a call asks to end the run."""
        return any(call.completes for call in self.calls)

    @property
    def held_for_slots(self) -> bool:
        """Whether the text waits because the answer is only about slots."""
        return all(call.slot is not None for call in self.calls)

    @property
    def closing_argument(self) -> str:
        """Closing text given as an argument of the completing call (older agents)."""
        given = (call.arguments.get("message") for call in self.calls if call.completes)
        return next((visible(str(text)) for text in given if text), "")

    @property
    def holds_text(self) -> bool:
        """Whether the text waits for the batch (design D3.9).

        Beside a completing call it waits for the calls' success, even when it was
        shown, because its kind depends on it. Beside calls that were cut off it waits
        for ever: the model sends it again with them.
        """
        waits = self.held_for_slots and not self.speech.shown
        return self.cut or self.completing or waits

    def failed(self, results: Mapping[int, ToolResult]) -> list[str]:
        """Names of the calls beside the completing one that did not succeed.

        Args:
            results: Results of all executable calls by position.
        """
        refused = [call.name for call in self.calls if call.refusal]
        return refused + [c.name for c in self.executable if results[c.position].is_error]


def plan(run: Run, speech: Speech, *, cut: bool) -> Batch:
    """Judge every call of an answer (cases B05, B09, B13, B14, B17, B18, B25).

    Args:
        run: State before the batch.
        speech: The answer.
        cut: The provider says that the answer was cut off: nothing of it runs.
    """
    ids = set(run.used_ids)
    calls: list[Planned] = []
    for position, call in enumerate(speech.answer.calls):
        unique = _unique(call.id, ids, f"call_{len(run.steps)}_{position}")
        ids.add(unique)
        name = safe_word(call.name) or UNNAMED
        base = Planned(position=position, id=unique, name=name, extra=call.extra)
        calls.append(replace(base, refusal=wording.CUT_OFF) if cut else _judged(run, base, call))
    return Batch(speech=speech, calls=_without_doubles(calls), cut=cut)


def told(result: ToolResult) -> ToolResult:
    """A result as the model may be told it: never blank, always encodable."""
    text = sound(result.text) if visible(result.text) else wording.NO_RESULT
    return result if text == result.text else replace(result, text=text)


def answer_to(
    run: Run, batch: Batch, call: Planned, results: Mapping[int, ToolResult]
) -> ToolResult:
    """What the model is told about one call of a closed batch."""
    if call.refusal is not None:
        return ToolResult(text=call.refusal, is_error=True)
    if call.slot is not None:
        return ToolResult(text=wording.slot_set(call.slot, call.value))
    if call.completes:
        failed = batch.failed(results)
        if failed:
            return ToolResult(text=wording.task_not_accepted(failed), is_error=True)
        return NOT_EXECUTED if batch.abandoned else ToolResult(text=wording.TASK_ACCEPTED)
    result = results[call.position]
    _, count = run.repeats[call.key]
    if count == 1:
        return result
    return replace(result, text=f"{result.text}\n{wording.repeated(count)}")


def counted(run: Run, batch: Batch, results: Mapping[int, ToolResult]) -> Run:
    """Count what leads nowhere: equal results of equal calls, refused names, cut answers.

    An answer counts once, however many of its calls are alike: the model had not seen
    the results yet. What succeeds, or changes, is forgiven.
    """
    if batch.cut:
        return replace(run, cuts=run.cuts + 1)
    repeats = dict(run.repeats)
    for key, text in {c.key: results[c.position].text for c in batch.executable}.items():
        last, count = repeats.get(key, ("", 0))
        repeats[key] = (text, count + 1 if text == last else 1)
    worked = {call.name for call in batch.calls if call.refusal is None}
    refused = {call.name for call in batch.calls if call.refusal is not None} - worked
    refusals = {name: count for name, count in run.refusals.items() if name not in worked}
    refusals.update({name: refusals.get(name, 0) + 1 for name in refused})
    return replace(run, cuts=0, repeats=repeats, refusals=refusals)


def _judged(run: Run, base: Planned, call: ToolCall) -> Planned:
    name = _offered_name(call.name, run)
    if name is None:
        known = [*run.tools, *run.rules.slots, *filter(None, (run.rules.completes,))]
        return replace(
            base,
            arguments=_readable(call.arguments),
            refusal=wording.unknown_tool(call.name, known),
        )
    spec = run.rules.slots.get(name)
    slot = spec.name if spec else None
    base = replace(base, name=name, slot=slot, completes=name == run.rules.completes)
    try:
        base = replace(base, arguments=argument.parse(call.arguments))
        if spec:
            return _slot_call(run, base, spec)
        if base.completes:
            return base
        tool = run.tools[name]
        return replace(base, tool=tool, arguments=argument.fit(base.arguments, tool.parameters))
    except FeedbackError as error:
        return replace(base, refusal=str(error))


def _readable(raw: str | None) -> dict[str, Any]:
    """The arguments of a call that is refused anyway, so that the model sees what it asked for."""
    try:
        return argument.parse(raw)
    except FeedbackError:
        return {}


def _slot_call(run: Run, base: Planned, spec: SlotSpec) -> Planned:
    try:
        if SLOT_VALUE not in base.arguments:
            raise FeedbackError(wording.value_missing(SLOT_VALUE, list(base.arguments)))
        return replace(base, value=spec.convert(base.arguments[SLOT_VALUE]))
    except FeedbackError as error:
        refusal = wording.slot_refused(spec.name, str(error), run.slots.get(spec.name))
        return replace(base, refusal=refusal)


def _without_doubles(calls: list[Planned]) -> tuple[Planned, ...]:
    """The last value of a slot counts, and one completion (case B09)."""
    last = {call.slot: call.position for call in calls if call.sets_slot}
    return tuple(
        replace(call, refusal=wording.SUPERSEDED)
        if call.sets_slot and last[call.slot] != call.position
        else call
        for call in calls
    )


def _offered_name(name: str, run: Run) -> str | None:
    """The offered tool a name means.

    Debris after the name (some providers leak markup into it) is cut off, but only
    when what remains is exactly an offered name and the debris holds no word.
    """
    offered = {*run.tools, *run.rules.slots, run.rules.completes} - {""}
    if name in offered:
        return name
    stripped = name.strip()
    end = next((i for i, c in enumerate(stripped) if not (c.isalnum() or c in "_-.")), None)
    if end is None:
        return stripped if stripped in offered else None
    debris = any(character.isalnum() for character in stripped[end:])
    return stripped[:end] if not debris and stripped[:end] in offered else None


def _unique(wanted: str, taken: set[str], fallback: str) -> str:
    if wanted and wanted not in taken:
        return wanted
    candidate, number = fallback, 1
    while candidate in taken:
        number += 1
        candidate = f"{fallback}_{number}"
    return candidate
