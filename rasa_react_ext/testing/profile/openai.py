"""OpenAI chat completions: what the API refuses with status 400.

Source: the API reference, the guides on function calling and structured outputs,
and the error texts that clients report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rasa_react_ext.testing import wire
from rasa_react_ext.testing.profile.check import Body, Problem, Profile
from rasa_react_ext.testing.profile.history import (
    batches,
    calls_of,
    function_of,
    functions,
    messages_of,
    repeated,
    stray_results,
)
from rasa_react_ext.testing.profile.schema import walk

__all__ = ["PROFILE", "RULES", "error_body"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_TOOLS = 128
_STRICT_UNKNOWN = frozenset(
    [
        "allOf",
        "oneOf",
        "not",
        "if",
        "then",
        "else",
        "default",
        "patternProperties",
        "dependentRequired",
        "dependentSchemas",
        "uniqueItems",
        "propertyNames",
    ]
)
_STRICT_FORMATS = frozenset(
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"]
)


def error_body(problem: Problem) -> Mapping[str, Any]:
    """The error in OpenAI's shape."""
    return wire.error_body(
        problem.message, status=problem.status, code=problem.code, param=problem.param
    )


def messages_are_given(body: Body) -> Problem | None:
    """A request has at least one message."""
    if messages_of(body):
        return None
    return Problem(message="[] is too short - 'messages'.", param="messages")


def tools_are_not_an_empty_list(body: Body) -> Problem | None:
    """Without tools the key is left out; an empty list is refused."""
    if body.get("tools") != []:
        return None
    return Problem(message="[] is too short - 'tools'.", param="tools")


def tools_are_not_too_many(body: Body) -> Problem | None:
    """At most 128 tools."""
    count = len(functions(body))
    if count <= _MOST_TOOLS:
        return None
    return Problem(message=f"'tools' has {count} items, at most 128 are allowed.", param="tools")


def tool_settings_need_tools(body: Body) -> Problem | None:
    """`tool_choice` and `parallel_tool_calls` are allowed only beside tools."""
    for key in ("tool_choice", "parallel_tool_calls"):
        if body.get(key) is not None and not body.get("tools"):
            return Problem(message=f"'{key}' is only allowed when 'tools' are given.", param=key)
    return None


def stream_options_need_a_stream(body: Body) -> Problem | None:
    """`stream_options` is allowed only with `stream: true`."""
    if body.get("stream_options") is None or body.get("stream"):
        return None
    return Problem(
        message="'stream_options' is only allowed when 'stream' is on.", param="stream_options"
    )


def tool_names_fit(body: Body) -> Problem | None:
    """Names of tools and of calls: letters, digits, `_` and `-`, at most 64."""
    called = [function_of(call) for message in messages_of(body) for call in calls_of(message)]
    for function in (*functions(body), *called):
        name = str(function.get("name", ""))
        if not _NAME.fullmatch(name):
            return Problem(
                message=f"Function name {name!r} does not match '^[a-zA-Z0-9_-]{{1,64}}$'.",
                code="invalid_value",
                param="tools.function.name",
            )
    return None


def parameters_are_an_object(body: Body) -> Problem | None:
    """`parameters`, where given, is a schema of type object."""
    for function in functions(body):
        parameters = function.get("parameters")
        if parameters is not None and _type(parameters) != "object":
            return _schema_problem(function, "", f"type is {_type(parameters)!r}, not 'object'")
    return None


def objects_list_their_properties(body: Body) -> Problem | None:
    """The parameters have `properties`, even if there are none."""
    for function in functions(body):
        parameters = function.get("parameters")
        if isinstance(parameters, Mapping) and "properties" not in parameters:
            return _schema_problem(function, "", "object schema missing properties")
    return None


def arrays_describe_their_items(body: Body) -> Problem | None:
    """A schema of type array has `items`."""
    for function in functions(body):
        for path, schema in walk(function.get("parameters")):
            if _type(schema) == "array" and "items" not in schema:
                return _schema_problem(function, path, "array schema missing items")
    return None


def strict_objects_are_closed(body: Body) -> Problem | None:
    """Strict mode: every object has `additionalProperties: false`."""
    for function, path, schema in _strict_objects(body):
        if schema.get("additionalProperties") is not False:
            return _schema_problem(function, path, "'additionalProperties' must be false")
    return None


def strict_keys_are_all_required(body: Body) -> Problem | None:
    """Strict mode: `required` lists exactly the properties."""
    for function, path, schema in _strict_objects(body):
        missing = set(schema.get("properties", ())) ^ set(schema.get("required", ()))
        if missing:
            listed = ", ".join(sorted(missing))
            return _schema_problem(
                function, path, f"'required' must list every property, differs in: {listed}"
            )
    return None


def strict_keywords_are_supported(body: Body) -> Problem | None:
    """Strict mode: a subset of JSON schema, and nothing beside a `$ref`."""
    for function, path, schema in _strict_schemas(body):
        unknown = sorted(_STRICT_UNKNOWN & set(schema))
        if unknown:
            return _schema_problem(function, path, f"{unknown[0]!r} is not permitted")
        if "$ref" in schema and len(schema) > 1:
            return _schema_problem(function, path, "'$ref' must stand alone")
        written = schema.get("format")
        if isinstance(written, str) and written not in _STRICT_FORMATS:
            return _schema_problem(function, path, f"{written!r} is not a valid format")
    return None


def content_is_given(body: Body) -> Problem | None:
    """Only an assistant message with calls may have no content."""
    for index, message in enumerate(messages_of(body)):
        if message.get("content") is None and not calls_of(message) and not message.get("refusal"):
            return Problem(
                message=f"Invalid value for 'content' of messages[{index}]: expected a string.",
                param=f"messages.[{index}].content",
            )
    return None


def call_lists_are_not_empty(body: Body) -> Problem | None:
    """Without calls the key `tool_calls` is left out."""
    for index, message in enumerate(messages_of(body)):
        if message.get("tool_calls") == []:
            param = f"messages.[{index}].tool_calls"
            return Problem(message=f"[] is too short - '{param}'.", param=param)
    return None


def call_ids_are_given_once(body: Body) -> Problem | None:
    """Ids of calls are neither empty nor repeated."""
    ids = [call for batch in batches(messages_of(body)) for call in batch.calls]
    twice = "" if "" in ids else repeated(ids)
    if twice is None:
        return None
    return Problem(message=f"Call id {twice!r} is empty or repeated.", param="messages")


def arguments_are_text(body: Body) -> Problem | None:
    """Arguments of calls in the history are strings; whether they parse is not checked."""
    for index, message in enumerate(messages_of(body)):
        for call in calls_of(message):
            if not isinstance(function_of(call).get("arguments"), str):
                return Problem(
                    message=f"Invalid type for 'arguments' of a call in messages[{index}]: "
                    "expected a string.",
                    code="invalid_type",
                    param=f"messages.[{index}].tool_calls",
                )
    return None


def calls_are_answered_directly(body: Body) -> Problem | None:
    """Tool messages for every call stand directly after the message that calls."""
    for batch in batches(messages_of(body)):
        if batch.unanswered:
            return Problem(
                message="An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. These have no response: "
                f"{', '.join(batch.unanswered)}.",
                param=f"messages.[{batch.index}].tool_calls",
            )
    return None


def results_follow_their_calls(body: Body) -> Problem | None:
    """A tool message answers a call of the message before it, and each call once."""
    messages = messages_of(body)
    stray = stray_results(messages)
    wrong = [batch.index for batch in batches(messages) if batch.uncalled]
    if not stray and not wrong:
        return None
    return Problem(
        message="Messages with role 'tool' must be a response to a preceding message with "
        f"'tool_calls'; see messages[{min(stray + wrong)}].",
        param=f"messages.[{min(stray + wrong)}].role",
    )


def _type(schema: Any) -> Any:
    return schema.get("type") if isinstance(schema, Mapping) else None


def _strict_schemas(body: Body) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
    for function in functions(body):
        if function.get("strict"):
            for path, schema in walk(function.get("parameters")):
                yield function, path, schema


def _strict_objects(body: Body) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any]]]:
    for function, path, schema in _strict_schemas(body):
        kind = _type(schema)
        if kind == "object" or (isinstance(kind, list) and "object" in kind):
            yield function, path, schema


def _schema_problem(function: Mapping[str, Any], path: str, reason: str) -> Problem:
    return Problem(
        message=f"Invalid schema for function {function.get('name')!r}: In {path or '(root)'}, "
        f"{reason}.",
        code="invalid_function_parameters",
        param="tools.function.parameters",
    )


RULES = (
    messages_are_given,
    tools_are_not_an_empty_list,
    tools_are_not_too_many,
    tool_settings_need_tools,
    stream_options_need_a_stream,
    tool_names_fit,
    parameters_are_an_object,
    objects_list_their_properties,
    arrays_describe_their_items,
    strict_objects_are_closed,
    strict_keys_are_all_required,
    strict_keywords_are_supported,
    content_is_given,
    call_lists_are_not_empty,
    call_ids_are_given_once,
    arguments_are_text,
    calls_are_answered_directly,
    results_follow_their_calls,
)

PROFILE = Profile(name="openai", rules=RULES, error_body=error_body)
