"""From a request to the reply it gets: the first matching rule, else an explanation.

Decides, sends nothing; the connection module performs the reply.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rasa_react_ext.testing import wire
from rasa_react_ext.testing.condition import Condition, compile_conditions, shorten
from rasa_react_ext.testing.render import AnswerTemplate, ModelScriptError, Rendered, values_for
from rasa_react_ext.testing.request import ChatRequest
from rasa_react_ext.testing.script import Answer, Fault, ModelScript, Rule

__all__ = ["Decision", "Player", "Reply"]

Sign = Callable[[Sequence[dict[str, Any]]], tuple[dict[str, Any], ...]]

_JSON = "application/json"
_EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes over the connection.

    Attributes:
        status: HTTP status.
        headers: Response headers besides the content type.
        content_type: Type of the body.
        chunks: The body in the pieces it is sent in.
        answer: What the log keeps of it.
        delay_seconds: Wait before the first byte.
        interval_seconds: Wait between chunks.
        ending: `whole`; `cut` drops the connection after the chunks; `reset` before
            any byte; `hang` after `hang_seconds` or when the client leaves.
        length: Announced size of the body in bytes; None streams it.
        hang_seconds: Longest time a hanging request is kept.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = _JSON
    chunks: tuple[bytes, ...] = ()
    answer: Any = None
    delay_seconds: float = 0
    interval_seconds: float = 0
    ending: Literal["whole", "cut", "reset", "hang"] = "whole"
    length: int | None = None
    hang_seconds: float = 0

    @classmethod
    def json(cls, body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
        """A JSON body in one piece."""
        raw = wire.encode(body)
        return cls(
            status=status, headers=headers or {}, chunks=(raw,), answer=body, length=len(raw)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The reply and the rule it comes from; None when the script had none."""

    reply: Reply
    rule: str | None


class Player:
    """Plays one script: counts matches and answers request after request.

    Args:
        script: The rules.
        sign: Adds a profile's provider fields to the calls of an answer.
    """

    def __init__(self, script: ModelScript, sign: Sign | None = None) -> None:
        self._source = script.source
        self._rules = [_PlayedRule(rule) for rule in script.rules]
        self._sign = sign

    def decide(self, request: ChatRequest, *, number: int, size: int) -> Decision:
        """The reply to a request.

        Args:
            request: The parsed request.
            number: Number of the request, used in ids.
            size: Size of its body in bytes, for the estimated usage.
        """
        for rule in self._rules:
            found = rule.match(request)
            if found is not None:
                return self._play(rule, request, found, number, size)
        return Decision(reply=_script_error(self._explain(request)), rule=None)

    def _play(
        self,
        rule: _PlayedRule,
        request: ChatRequest,
        found: Mapping[str, re.Match[str]],
        number: int,
        size: int,
    ) -> Decision:
        template = rule.next_answer()
        if template is None:
            return Decision(reply=_fault_reply(rule.fault, request.streams), rule=rule.name)
        try:
            answer = template.fill(lambda: values_for(request, found), number)
        except ModelScriptError as error:
            text = f"{rule.source}: {rule.name}: {error}."
            return Decision(reply=_script_error(text), rule=None)
        if self._sign is not None:
            answer = replace(answer, calls=self._sign(answer.calls))
        reply = _answer_reply(answer, request, number, size)
        if rule.fault is not None and rule.fault.cut is not None:
            reply = _cut(reply, rule.fault.cut.after_chunks)
        return Decision(reply=reply, rule=rule.name)

    def _explain(self, request: ChatRequest) -> str:
        """What was asked, and which rule was nearest."""
        asked = request.user if request.last_role != "tool" else request.result
        by = f" of {request.tool!r}" if request.tool else ""
        text = (
            f"No rule of {self._source} matches this request. "
            f"Last message: {request.last_role or 'none'}{by} {shorten(asked)!r}; "
            f"last user message: {shorten(request.user)!r}; step {request.step}; "
            f"tools offered: {', '.join(request.tools) or 'none'}."
        )
        if not self._rules:
            return f"{text} The script has no rules."
        nearest = min(self._rules, key=lambda rule: len(rule.failing(request)))
        reasons = "; ".join(nearest.failing(request))
        return f"{text} Nearest rule: {nearest.name}, but {reasons}."


class _PlayedRule:
    """A rule with its compiled parts and its count of matches."""

    def __init__(self, rule: Rule) -> None:
        self.name = rule.name or rule.place
        self.source = rule.source
        self.fault = rule.fault
        self._conditions: tuple[Condition, ...] = compile_conditions(rule.when)
        self._times = rule.times
        self._matched = 0
        self._templates = [
            AnswerTemplate(answer, file=rule.source, key=rule.place) for answer in _answers(rule)
        ]

    def match(self, request: ChatRequest) -> dict[str, re.Match[str]] | None:
        """The regex matches when all conditions hold, else None."""
        if self._times is not None and self._matched >= self._times:
            return None
        found: dict[str, re.Match[str]] = {}
        for condition in self._conditions:
            held = condition.test(request)
            if not held:
                return None
            if isinstance(held, re.Match):
                found[condition.key] = held
        return found

    def next_answer(self) -> AnswerTemplate | None:
        """Count a match; the answer it gets, None for a fault without one."""
        self._matched += 1
        if not self._templates:
            return None
        return self._templates[min(self._matched, len(self._templates)) - 1]

    def failing(self, request: ChatRequest) -> list[str]:
        """Each condition that does not hold, with what the request has instead."""
        reasons = [
            f"`{condition.key}: {shorten(condition.wanted)}` does not hold "
            f"({condition.actual(request)})"
            for condition in self._conditions
            if not condition.test(request)
        ]
        if self._times is not None and self._matched >= self._times:
            reasons.append(f"`times: {self._times}` is used up")
        return reasons


def _answers(rule: Rule) -> Sequence[Answer]:
    if rule.fault is not None:
        return () if rule.fault.cut is None else (rule.fault.cut.answer,)
    return rule.answers or ((rule.answer,) if rule.answer is not None else ())


def _script_error(text: str) -> Reply:
    return Reply.json(wire.error_body(text, code="no_matching_rule"), status=400)


def _answer_reply(answer: Rendered, request: ChatRequest, number: int, size: int) -> Reply:
    written = answer.written
    envelope = {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": request.model}
    if written.raw is not None:
        return replace(Reply.json(written.raw), delay_seconds=written.delay_seconds)
    body = wire.completion(answer, envelope, size)
    if not request.streams:
        return replace(Reply.json(body), delay_seconds=written.delay_seconds)
    chunks = wire.events(answer, envelope, size, include_usage=request.includes_usage)
    return Reply(
        content_type=_EVENTS,
        chunks=tuple(chunks),
        answer=body,
        delay_seconds=written.delay_seconds,
        interval_seconds=written.stream.interval_seconds,
    )


def _cut(reply: Reply, after_chunks: int) -> Reply:
    """The reply, dropped after some chunks, or after half of a body in one piece."""
    if reply.length is None:
        return replace(reply, chunks=reply.chunks[:after_chunks], ending="cut")
    half = reply.chunks[0][: reply.length // 2]
    return replace(reply, chunks=(half,), ending="cut")


def _fault_reply(fault: Fault | None, streams: bool) -> Reply:
    assert fault is not None, "a rule without answers is a fault"
    delay = fault.delay_seconds
    if fault.reset:
        return Reply(ending="reset", delay_seconds=delay)
    if fault.hang is not None:
        return Reply(ending="hang", hang_seconds=fault.hang.max_seconds, delay_seconds=delay)
    if fault.malformed is not None:
        body = fault.malformed.body
        broken = (f"data: {body}\n\n", 200, _EVENTS) if streams else (body, 200, _JSON)
        return replace(_text_reply(*broken), delay_seconds=delay)
    if fault.content_filter:
        return replace(Reply.json(wire.content_filter_error(), 400), delay_seconds=delay)
    return replace(_status_reply(fault), delay_seconds=delay)


def _status_reply(fault: Fault) -> Reply:
    status = fault.status or 500
    headers = {name.lower(): str(value) for name, value in fault.headers.items()}
    if isinstance(fault.body, str):
        content_type = headers.pop("content-type", "text/plain; charset=utf-8")
        return replace(_text_reply(fault.body, status, content_type), headers=headers)
    usual = wire.error_body(f"The script answers with status {status}.", status=status)
    return Reply.json(usual if fault.body is None else fault.body, status, headers)


def _text_reply(text: str, status: int, content_type: str) -> Reply:
    raw = text.encode()
    return Reply(
        status=status, content_type=content_type, chunks=(raw,), answer=text, length=len(raw)
    )
