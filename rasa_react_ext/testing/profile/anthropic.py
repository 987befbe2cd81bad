"""Anthropic's messages API, seen through an OpenAI-compatible gateway.

Tool messages count as user turns, as a gateway makes them; results and the user text
after them are one turn. Source: the API reference and its error texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rasa_react_ext.testing.profile.check import Body, Problem, Profile
from rasa_react_ext.testing.profile.history import (
    arguments_problem,
    batches,
    blank_texts,
    chat,
    functions,
    has_tool_messages,
    messages_of,
    repeated,
    stray_results,
)

__all__ = ["PROFILE", "RULES"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")


def one_system_message_first(body: Body) -> Problem | None:
    """The system prompt stands outside of the messages: one, before everything else."""
    roles = [message.get("role") for message in messages_of(body)]
    if "system" not in roles[1:]:
        return None
    place = roles.index("system", 1)
    return Problem(
        message=f'messages.{place}: role "system" is allowed only once, as the first message.'
    )


def first_message_is_a_users(body: Body) -> Problem | None:
    """The first message after the system prompt is a user's."""
    messages = chat(body)
    if messages and messages[0].get("role") == "user":
        return None
    return Problem(message='messages: first message must use the "user" role.')


def roles_alternate(body: Body) -> Problem | None:
    """User and assistant turns alternate; results and a user text after them are one turn."""
    for before, after in pairwise(chat(body)):
        pair = (before.get("role"), after.get("role"))
        if pair in (("user", "user"), ("assistant", "assistant"), ("user", "tool")):
            return Problem(
                message='messages: roles must alternate between "user" and "assistant", but '
                f'found "{pair[1]}" after "{pair[0]}".'
            )
    return None


def last_message_is_not_the_assistants(body: Body) -> Problem | None:
    """The conversation ends with a user turn; prefilled answers are not supported."""
    messages = chat(body)
    if not messages or messages[-1].get("role") != "assistant":
        return None
    return Problem(
        message="This model does not support assistant message prefill. "
        "The conversation must end with a user message."
    )


def texts_are_not_blank(body: Body) -> Problem | None:
    """Text blocks hold more than white space; a result may be empty."""
    messages = messages_of(body)
    for place in blank_texts(messages):
        if messages[place].get("role") != "tool":
            return Problem(message=f"messages.{place}: text content blocks must be non-empty.")
    return None


def tools_are_given_for_tool_history(body: Body) -> Problem | None:
    """A history with calls or results needs the tools list, also when no call is wanted."""
    if body.get("tools") or not has_tool_messages(body):
        return None
    return Problem(
        message="Requests which include `tool_use` or `tool_result` blocks must define tools."
    )


def tool_names_fit(body: Body) -> Problem | None:
    """Names of tools: letters, digits, `_` and `-`, at most 128, each once."""
    names = [str(function.get("name", "")) for function in functions(body)]
    for place, name in enumerate(names):
        if not _NAME.fullmatch(name):
            return Problem(
                message=f"tools.{place}.name: {name!r} should match '^[a-zA-Z0-9_-]{{1,128}}$'."
            )
    twice = repeated(names)
    return None if twice is None else Problem(message=f"tools: {twice!r}: names must be unique.")


def input_schemas_are_objects(body: Body) -> Problem | None:
    """The input schema has type object and no anyOf, oneOf or allOf at its top."""
    for place, function in enumerate(functions(body)):
        schema = function.get("parameters") or {}
        if not isinstance(schema, Mapping) or schema.get("type") != "object":
            return Problem(message=f"tools.{place}.input_schema.type: should be 'object'.")
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return Problem(
                    message=f"tools.{place}.input_schema: {key} is not supported at the top level."
                )
    return None


def call_ids_fit(body: Body) -> Problem | None:
    """Ids of calls: letters, digits, `_` and `-`, each once in the conversation."""
    ids = [call for batch in batches(messages_of(body)) for call in batch.calls]
    for written in ids:
        if not _ID.fullmatch(written):
            return Problem(
                message=f"tool_use.id: {written!r} should match pattern '^[a-zA-Z0-9_-]+$'."
            )
    twice = repeated(ids)
    return None if twice is None else Problem(message=f"`tool_use` ids must be unique: {twice}.")


def calls_are_answered_directly(body: Body) -> Problem | None:
    """Every call has its result in the next message, and no other results are there."""
    messages = messages_of(body)
    for batch in batches(messages):
        if batch.unanswered:
            return Problem(
                message=f"messages.{batch.index}: `tool_use` ids were found without `tool_result` "
                f"blocks immediately after: {', '.join(batch.unanswered)}."
            )
        if batch.uncalled:
            return Problem(
                message=f"messages.{batch.index}: unexpected `tool_use_id` found in `tool_result` "
                f"blocks: {', '.join(batch.uncalled)}."
            )
    stray = stray_results(messages)
    if not stray:
        return None
    return Problem(
        message=f"messages.{stray[0]}: unexpected `tool_result` without a `tool_use` before it."
    )


def arguments_are_objects(body: Body) -> Problem | None:
    """The input of a call in the history is an object, so the arguments must parse."""
    wrong = arguments_problem(body)
    if wrong is None:
        return None
    return Problem(message=f"tool_use.input: Input should be a valid dictionary: {wrong}.")


def _error_body(problem: Problem) -> Mapping[str, Any]:
    error = {"type": "invalid_request_error", "message": problem.message}
    return {"type": "error", "error": error}


RULES = (
    one_system_message_first,
    first_message_is_a_users,
    roles_alternate,
    last_message_is_not_the_assistants,
    texts_are_not_blank,
    tools_are_given_for_tool_history,
    tool_names_fit,
    input_schemas_are_objects,
    call_ids_fit,
    calls_are_answered_directly,
    arguments_are_objects,
)

PROFILE = Profile(name="anthropic", rules=RULES, error_body=_error_body)
