"""vLLM with a strict chat template (as Mistral's and Qwen's are), behind its OpenAI API.

Source: vLLM's request checks, and the errors that chat templates raise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rasa_react_ext.testing.profile.check import Body, Problem, Profile
from rasa_react_ext.testing.profile.history import (
    arguments_problem,
    batches,
    calls_of,
    chat,
    messages_of,
    stray_results,
)

__all__ = ["PROFILE", "RULES"]


def one_system_message_first(body: Body) -> Problem | None:
    """The template knows one system message, at the beginning."""
    roles = [message.get("role") for message in messages_of(body)]
    if "system" not in roles[1:]:
        return None
    return Problem(message="System message must be at the beginning, and only once.")


def roles_alternate(body: Body) -> Problem | None:
    """Without calls and results, user and assistant alternate, the user first."""
    spoken = [m for m in chat(body) if m.get("role") != "tool" and not calls_of(m)]
    for place, message in enumerate(spoken):
        if message.get("role") != ("user", "assistant")[place % 2]:
            return Problem(
                message="After the optional system message, conversation roles must alternate "
                "user/assistant/user/assistant/..."
            )
    return None


def last_message_is_not_the_assistants(body: Body) -> Problem | None:
    """With a generation prompt the last message may not be the assistant's."""
    messages = chat(body)
    if messages and messages[-1].get("role") != "assistant":
        return None
    return Problem(message="Expected last role User or Tool, but got assistant or nothing.")


def tool_choice_needs_tools(body: Body) -> Problem | None:
    """`tool_choice` other than none is allowed only beside tools."""
    if body.get("tool_choice") in (None, "none") or body.get("tools"):
        return None
    return Problem(message="When using `tool_choice`, `tools` must be set.")


def results_name_a_given_id(body: Body) -> Problem | None:
    """A result carries the id of a call of the message before it, as it was given."""
    messages = messages_of(body)
    for batch in batches(messages):
        if batch.uncalled or batch.unanswered or "" in batch.calls:
            return Problem(
                message=f"messages[{batch.index}]: calls {list(batch.calls)} and results "
                f"{list(batch.results)} do not have the same ids."
            )
    if not stray_results(messages):
        return None
    return Problem(message="Tool message without a preceding assistant message with tool calls.")


def arguments_are_objects(body: Body) -> Problem | None:
    """The arguments of calls are parsed before the template sees them."""
    wrong = arguments_problem(body)
    return None if wrong is None else Problem(message=f"Arguments are not a JSON object: {wrong}.")


def _error_body(problem: Problem) -> Mapping[str, Any]:
    return {
        "error": {
            "message": problem.message,
            "type": "BadRequestError",
            "param": problem.param,
            "code": problem.status,
        }
    }


RULES = (
    one_system_message_first,
    roles_alternate,
    last_message_is_not_the_assistants,
    tool_choice_needs_tools,
    results_name_a_given_id,
    arguments_are_objects,
)

PROFILE = Profile(name="vllm", rules=RULES, error_body=_error_body)
