"""Google's Gemini API through its OpenAI-compatible endpoint.

`SIGNED` also wants its thought signatures back: opt-in, because only the thinking
models send them. Source: the API reference (Schema, FunctionDeclaration), the guide on
thought signatures, and the error texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rasa_react_ext.testing.profile.check import Body, Call, Problem, Profile
from rasa_react_ext.testing.profile.history import (
    arguments_problem,
    batches,
    calls_of,
    chat,
    function_of,
    functions,
    messages_of,
    repeated,
    stray_results,
)
from rasa_react_ext.testing.profile.schema import walk

__all__ = ["PROFILE", "RULES", "SIGNED"]

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
_KEYWORDS = frozenset(
    [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "anyOf",
        "default",
        "properties",
        "required",
        "propertyOrdering",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minProperties",
        "maxProperties",
        "pattern",
        "example",
    ]
)
_FORMATS = {
    "string": ("enum", "date-time"),
    "number": ("float", "double"),
    "integer": ("int32", "int64"),
}


def contents_are_given(body: Body) -> Problem | None:
    """A request needs more than a system instruction."""
    if chat(body):
        return None
    return Problem(message="GenerateContentRequest.contents: contents is not specified.")


def tool_names_fit(body: Body) -> Problem | None:
    """Names begin with a letter or `_`, then letters, digits, `_`, `.`, `-`; 64; each once."""
    names = [str(function.get("name", "")) for function in functions(body)]
    for place, name in enumerate(names):
        if not _NAME.fullmatch(name):
            return Problem(
                message=f"tools[0].function_declarations[{place}].name: Invalid function name "
                f"{name!r}. Must start with a letter or an underscore; letters, digits, '_', '.' "
                "and '-' may follow; at most 64 characters."
            )
    twice = repeated(names)
    if twice is None:
        return None
    return Problem(message=f"Duplicate function declaration found: {twice}.")


def schema_keywords_are_known(body: Body) -> Problem | None:
    """Only Gemini's schema subset, without $ref, $defs, const, oneOf, additionalProperties."""
    for function in functions(body):
        for path, schema in walk(function.get("parameters")):
            unknown = sorted(set(schema) - _KEYWORDS)
            if unknown:
                return Problem(
                    message=f'Invalid JSON payload received. Unknown name "{unknown[0]}" at '
                    f"function {function.get('name')!r}, {path}: Cannot find field."
                )
    return None


def schema_types_are_single(body: Body) -> Problem | None:
    """`type` is one name; null is written as `nullable`, neither as a type nor in anyOf."""
    for function in functions(body):
        for path, schema in walk(function.get("parameters")):
            kind = schema.get("type")
            if isinstance(kind, list) or kind == "null":
                return Problem(
                    message=f"Invalid value at function {function.get('name')!r}, {path}: type "
                    f"{kind!r}; a type is a single name, and null is written as nullable."
                )
    return None


def schema_formats_are_known(body: Body) -> Problem | None:
    """Formats: enum and date-time for strings, sizes for numbers."""
    for function in functions(body):
        for path, schema in walk(function.get("parameters")):
            allowed = _FORMATS.get(str(schema.get("type")), ())
            written = schema.get("format")
            if written is not None and written not in allowed:
                return Problem(
                    message=f"function {function.get('name')!r}, {path}: format {written!r} is "
                    f"not supported for {schema.get('type')}, only {', '.join(allowed) or 'none'}."
                )
    return None


def enums_are_strings(body: Body) -> Problem | None:
    """`enum` is allowed on strings only, with string values."""
    for function in functions(body):
        for path, schema in walk(function.get("parameters")):
            values = schema.get("enum")
            if values is None:
                continue
            if schema.get("type") != "string" or not all(isinstance(v, str) for v in values):
                return Problem(
                    message=f"function {function.get('name')!r}, {path}: enum: only allowed for "
                    "STRING type."
                )
    return None


def calls_come_after_a_user_or_results(body: Body) -> Problem | None:
    """A turn with calls follows a user turn or results."""
    messages = chat(body)
    for place, message in enumerate(messages):
        before = messages[place - 1].get("role") if place else None
        if calls_of(message) and before not in ("user", "tool"):
            return Problem(
                message="Please ensure that function call turn comes immediately after a user "
                "turn or after a function response turn."
            )
    return None


def results_match_the_calls_in_number(body: Body) -> Problem | None:
    """Directly after a turn with calls come as many results, for these calls."""
    messages = messages_of(body)
    if not stray_results(messages) and not any(
        batch.unanswered or batch.uncalled for batch in batches(messages)
    ):
        return None
    return Problem(
        message="Please ensure that the number of function response parts is equal to the number "
        "of function call parts of the function call turn."
    )


def arguments_are_objects(body: Body) -> Problem | None:
    """The arguments of a call in the history are an object."""
    wrong = arguments_problem(body)
    return None if wrong is None else Problem(message=f"function_call.args: not a Struct: {wrong}.")


def signatures_come_back(body: Body) -> Problem | None:
    """Since the last user message, each first call of a step carries its signature, unchanged."""
    messages = messages_of(body)
    users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    for message in messages[users[-1] if users else 0 :]:
        for call in calls_of(message)[:1]:
            name = str(function_of(call).get("name", ""))
            if _signature(call) != _signature_for(name):
                return Problem(
                    message="Function call is missing a thought_signature in functionCall parts, "
                    f"or it was changed: {name}."
                )
    return None


def _sign(calls: Sequence[Call]) -> tuple[Call, ...]:
    """The first call with a signature in `extra_content`, as the endpoint sends it."""
    return tuple(
        {**call, "extra_content": _extra(str(function_of(call).get("name", "")))}
        if place == 0
        else call
        for place, call in enumerate(calls)
    )


def _extra(name: str) -> dict[str, Any]:
    return {"google": {"thought_signature": _signature_for(name)}}


def _signature_for(name: str) -> str:
    return f"signature-of-{name}"


def _signature(call: Mapping[str, Any]) -> Any:
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, Mapping) else None
    return google.get("thought_signature") if isinstance(google, Mapping) else None


def _error_body(problem: Problem) -> Mapping[str, Any]:
    error = {"code": problem.status, "message": problem.message, "status": "INVALID_ARGUMENT"}
    return {"error": error}


RULES = (
    contents_are_given,
    tool_names_fit,
    schema_keywords_are_known,
    schema_types_are_single,
    schema_formats_are_known,
    enums_are_strings,
    calls_come_after_a_user_or_results,
    results_match_the_calls_in_number,
    arguments_are_objects,
)

PROFILE = Profile(name="gemini", rules=RULES, error_body=_error_body)

SIGNED = Profile(
    name="gemini_signed",
    rules=(*RULES, signatures_come_back),
    error_body=_error_body,
    sign=_sign,
)
