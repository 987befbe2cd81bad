"""From a written answer to the answer of one request: templates filled, ids given.

Templates run in Jinja's sandbox and are compiled once; an undefined name is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from rasa_react_ext.errors import ConfigurationError, ExtensionError
from rasa_react_ext.testing.request import ChatRequest
from rasa_react_ext.testing.script import Answer, Call

__all__ = ["AnswerTemplate", "ModelScriptError", "Rendered", "values_for"]

Values = Mapping[str, Any]
Filler = Callable[[Values], Any]

_ENVIRONMENT = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
_ENVIRONMENT.filters["fromjson"] = json.loads
_FACTS = ("user", "result", "results", "system", "tool", "step", "model")
_FILL_ERRORS = (ArithmeticError, AttributeError, LookupError, TemplateError, TypeError, ValueError)


class ModelScriptError(ExtensionError):
    """A script cannot answer a request it matches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """An answer, ready for the wire.

    Attributes:
        written: The answer as the script has it, for stream, usage, raw and delay.
        text: Text with its templates filled.
        calls: Tool calls in wire form.
        finish_reason: As written, else by what the answer holds.
    """

    written: Answer
    text: str | None
    calls: tuple[dict[str, Any], ...]
    finish_reason: str


def values_for(request: ChatRequest, found: Mapping[str, re.Match[str]]) -> dict[str, Any]:
    """What templates can use: facts of the request, `match`, and named regex groups."""
    values: dict[str, Any] = {fact: getattr(request, fact) for fact in _FACTS}
    values["match"] = found
    for match in found.values():
        values.update(match.groupdict())
    return values


class AnswerTemplate:
    """An answer of a script, compiled once.

    Args:
        answer: The written answer.
        file: Name of the script, for messages.
        key: Place of the answer in it, for messages.

    Raises:
        ConfigurationError: A template has a syntax error.
    """

    def __init__(self, answer: Answer, *, file: str, key: str) -> None:
        self.written = answer
        try:
            self._text = _compile(answer.text)
            self._calls = tuple((call, _compile_arguments(call)) for call in answer.calls)
        except TemplateError as error:
            raise ConfigurationError(
                file=file,
                key=key,
                problem=f"a template cannot be read: {error}.",
                fix="Correct it, or put literal braces between {% raw %} and {% endraw %}.",
            ) from error
        self._finish_reason = answer.finish_reason or _usual_finish_reason(answer)

    def fill(self, values: Callable[[], Values], number: int) -> Rendered:
        """The answer to one request.

        Args:
            values: Gives the template values; called only when there is a template.
            number: Number of the request, used in generated call ids.

        Raises:
            ModelScriptError: A template cannot be filled for this request.
        """
        known = _Once(values)
        try:
            text = _fill(self._text, known)
            calls = tuple(
                _wire_call(call, _fill(arguments, known), f"call_{number}_{position}")
                for position, (call, arguments) in enumerate(self._calls, start=1)
            )
        except _FILL_ERRORS as error:
            raise ModelScriptError(f"a template cannot be filled: {error}") from error
        return Rendered(
            written=self.written, text=text, calls=calls, finish_reason=self._finish_reason
        )


class _Once:
    """Makes the template values at the first use."""

    def __init__(self, make: Callable[[], Values]) -> None:
        self._make = make
        self._values: Values | None = None

    def __call__(self) -> Values:
        if self._values is None:
            self._values = self._make()
        return self._values


def _compile(written: Any) -> Any:
    """The value with each string that holds a template replaced by its filler."""
    if isinstance(written, str) and ("{{" in written or "{%" in written):
        return _ENVIRONMENT.from_string(written).render
    if isinstance(written, dict):
        return {key: _compile(value) for key, value in written.items()}
    if isinstance(written, list):
        return [_compile(value) for value in written]
    return written


def _fill(compiled: Any, values: _Once) -> Any:
    if callable(compiled):
        return compiled(values())
    if isinstance(compiled, dict):
        return {key: _fill(value, values) for key, value in compiled.items()}
    if isinstance(compiled, list):
        return [_fill(value, values) for value in compiled]
    return compiled


def _compile_arguments(call: Call) -> Any:
    compiled = _compile(call.arguments)
    if isinstance(compiled, dict) and compiled == call.arguments:
        return json.dumps(compiled, ensure_ascii=False)
    return compiled


def _wire_call(call: Call, arguments: Any, generated_id: str) -> dict[str, Any]:
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return {
        "id": generated_id if call.id is None else call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
        **call.extra,
    }


def _usual_finish_reason(answer: Answer) -> str:
    deltas = [delta for delta in answer.stream.deltas or () if isinstance(delta, dict)]
    calls = answer.calls or any("tool_calls" in delta for delta in deltas)
    return "tool_calls" if calls else "stop"
