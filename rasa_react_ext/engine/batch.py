"""The calls of one model answer, judged before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from rasa_react_ext.engine import argument, wording
from rasa_react_ext.engine.tool import Tool, ToolResult
from rasa_react_ext.errors import FeedbackError

if TYPE_CHECKING:
    from rasa_react_ext.engine.decision import CallDone, Run, Speech
    from rasa_react_ext.engine.message import ToolCall

__all__ = ["Batch", "Planned", "plan"]

NAME_LIMIT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """One call after judgement: exactly one of tool, slot, completion or refusal.

    Attributes:
        position: Place in the answer, the internal key.
        id: Unique within the run.
        name: Name as stored in history, safe for every provider.
        arguments: Parsed and fitted arguments.
        tool: The tool to run, if it is to be run.
        slot: The slot to set, if the call sets one.
        value: The slot's converted value.
        completes: The call ends the run.
        refusal: Why the call is answered without being carried out.
        superseded: A later call of the same answer takes its place.
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
    superseded: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_tool(self) -> bool:
        """Whether a tool runs for this call."""
        return self.tool is not None and self.refusal is None

    @property
    def arguments_json(self) -> str:
        """Valid JSON for the history, whatever the model wrote (case B16)."""
        return json.dumps(self.arguments, ensure_ascii=False)

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return f"{self.name} {json.dumps(self.arguments, sort_keys=True, default=str)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The calls of one answer and the text beside them."""

    speech: Speech
    calls: tuple[Planned, ...]
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
        """Whether the text waits because the answer only sets slots."""
        return all(call.slot is not None for call in self.calls)

    @property
    def closing_argument(self) -> str:
        """Closing text given as an argument of the completing call (older agents)."""
        for call in self.calls:
            if call.completes:
                return str(call.arguments.get("message") or "").strip()
        return ""

    @property
    def holds_text(self) -> bool:
        """Whether the text waits for the batch (design D3.9).

        Beside a completing call it waits for the calls' success, even when it was
        shown, because its kind depends on it.
        """
        return self.completing or (self.held_for_slots and not self.speech.shown)

    def failed(self, results: Mapping[int, ToolResult]) -> list[str]:
        """Names of the calls beside the completing one that did not succeed."""
        names = [call.name for call in self.calls if call.refusal and not call.completes]
        for call in self.executable:
            result = results.get(call.position)
            if result is None or result.is_error:
                names.append(call.name)
        return names


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
        base = Planned(position=position, id=unique, name=_safe_name(call.name), extra=call.extra)
        calls.append(replace(base, refusal=wording.CUT_OFF) if cut else _judged(run, base, call))
    return Batch(speech=speech, calls=_without_doubles(calls))


def _judged(run: Run, base: Planned, call: ToolCall) -> Planned:
    name = _offered_name(call.name, run)
    if name is None:
        known = [*run.tools, *run.rules.slots, *filter(None, (run.rules.completes,))]
        return replace(base, refusal=wording.unknown_tool(call.name, known))
    base = replace(base, name=name)
    try:
        arguments = argument.parse(call.arguments)
        base = replace(base, arguments=arguments)
        if name in run.rules.slots:
            return _slot_call(run, base)
        if name == run.rules.completes:
            return replace(base, completes=True)
        tool = run.tools[name]
        return replace(base, tool=tool, arguments=argument.fit(arguments, tool.parameters))
    except FeedbackError as error:
        return replace(base, refusal=str(error))


def _slot_call(run: Run, base: Planned) -> Planned:
    spec = run.rules.slots[base.name]
    try:
        value = spec.convert(base.arguments.get("slot_value"))
    except FeedbackError as error:
        refusal = wording.slot_refused(spec.name, str(error), run.slots.get(spec.name))
        return replace(base, refusal=refusal)
    return replace(base, slot=spec.name, value=value)


def _without_doubles(calls: list[Planned]) -> tuple[Planned, ...]:
    """The last value of a slot counts, and one completion (case B09)."""
    last = {call.slot: call.position for call in calls if call.slot is not None}
    return tuple(
        replace(call, slot=None, refusal=wording.SUPERSEDED, superseded=True)
        if call.slot is not None and last[call.slot] != call.position
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


def _safe_name(name: str) -> str:
    kept = "".join(c if (c.isascii() and c.isalnum()) or c in "_-" else "_" for c in name)
    return kept[:NAME_LIMIT] or "unnamed"


def _unique(wanted: str, taken: set[str], fallback: str) -> str:
    if wanted and wanted not in taken:
        return wanted
    candidate, number = fallback, 1
    while candidate in taken:
        number += 1
        candidate = f"{fallback}_{number}"
    return candidate
