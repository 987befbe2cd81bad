"""Amazon Bedrock's Converse API, seen through an OpenAI-compatible gateway.

Tool messages count as user turns, as in the anthropic profile. Source: the API
reference (ToolSpecification, ContentBlock) and its validation errors.
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
    stray_results,
)

__all__ = ["PROFILE", "RULES"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def conversation_starts_with_a_user(body: Body) -> Problem | None:
    """The first message after the system prompts is a user's."""
    messages = chat(body)
    if messages and messages[0].get("role") == "user":
        return None
    return Problem(
        message="A conversation must start with a user message. "
        "Try again with a conversation that starts with a user message."
    )


def roles_alternate(body: Body) -> Problem | None:
    """User and assistant turns alternate; results and a user text after them are one turn."""
    for before, after in pairwise(chat(body)):
        pair = (before.get("role"), after.get("role"))
        if pair in (("user", "user"), ("assistant", "assistant"), ("user", "tool")):
            return Problem(
                message="A conversation must alternate between user and assistant roles. "
                f"Found {pair[1]} after {pair[0]}."
            )
    return None


def conversation_ends_with_a_user(body: Body) -> Problem | None:
    """The last message is a user's or a result."""
    messages = chat(body)
    if not messages or messages[-1].get("role") != "assistant":
        return None
    return Problem(
        message="A conversation must end with a user message. "
        "Try again with a conversation that ends with a user message."
    )


def texts_are_not_blank(body: Body) -> Problem | None:
    """Text fields, also those of results, hold more than white space."""
    for place in blank_texts(messages_of(body)):
        return Problem(
            message=f"The text field in the ContentBlock object at messages.{place}.content.0 "
            "is blank. Add text to the text field, and try again."
        )
    return None


def tool_config_is_given_for_tool_history(body: Body) -> Problem | None:
    """A history with calls or results needs the tools list, also when no call is wanted."""
    if body.get("tools") or not has_tool_messages(body):
        return None
    return Problem(
        message="The toolConfig field must be defined when using toolUse and toolResult content "
        "blocks."
    )


def tool_config_is_not_empty(body: Body) -> Problem | None:
    """A tools list holds at least one tool."""
    if body.get("tools") != []:
        return None
    return Problem(
        message="Value at 'toolConfig.tools' failed to satisfy constraint: "
        "Member must have length greater than or equal to 1."
    )


def tool_names_fit(body: Body) -> Problem | None:
    """Names of tools: letters, digits, `_` and `-`, at most 64."""
    for place, function in enumerate(functions(body)):
        name = str(function.get("name", ""))
        if not _NAME.fullmatch(name):
            return Problem(
                message=f"Value {name!r} at 'toolConfig.tools.{place}.toolSpec.name' failed to "
                "satisfy constraint: Member must satisfy regular expression pattern: "
                "[a-zA-Z0-9_-]+ and have length less than or equal to 64."
            )
    return None


def descriptions_are_not_empty(body: Body) -> Problem | None:
    """A description, where given, has at least one character."""
    for place, function in enumerate(functions(body)):
        if function.get("description") == "":
            return Problem(
                message=f"Value at 'toolConfig.tools.{place}.toolSpec.description' failed to "
                "satisfy constraint: Member must have length greater than or equal to 1."
            )
    return None


def results_match_the_calls(body: Body) -> Problem | None:
    """The turn after calls holds a result for each of them, and no other."""
    messages = messages_of(body)
    for batch in batches(messages):
        if batch.unanswered:
            return Problem(
                message=f"Expected toolResult blocks at messages.{batch.index + 1}.content for "
                f"the following Ids: {', '.join(batch.unanswered)}."
            )
        if batch.uncalled:
            return Problem(message=_exceeds(batch.index + 1))
    stray = stray_results(messages)
    return Problem(message=_exceeds(stray[0])) if stray else None


def arguments_are_objects(body: Body) -> Problem | None:
    """The input of a call in the history is an object."""
    wrong = arguments_problem(body)
    if wrong is None:
        return None
    return Problem(
        message=f"The format of the value at toolUse.input is invalid. Provide a json object: "
        f"{wrong}."
    )


def _exceeds(place: int) -> str:
    return (
        f"The number of toolResult blocks at messages.{place}.content exceeds the number of "
        "toolUse blocks of previous turn."
    )


def _error_body(problem: Problem) -> Mapping[str, Any]:
    return {"__type": "ValidationException", "message": problem.message}


RULES = (
    conversation_starts_with_a_user,
    roles_alternate,
    conversation_ends_with_a_user,
    texts_are_not_blank,
    tool_config_is_given_for_tool_history,
    tool_config_is_not_empty,
    tool_names_fit,
    descriptions_are_not_empty,
    results_match_the_calls,
    arguments_are_objects,
)

PROFILE = Profile(name="bedrock", rules=RULES, error_body=_error_body)
