"""Every sentence the engine tells a model or, for want of a model, a user.

Kept in one place so that tone and language can be judged together. Plain data
in, plain text out; nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "CONTINUE",
    "CUT_OFF",
    "LIMIT_REPLY",
    "NOT_EXECUTED",
    "NO_RESULT",
    "OPENING",
    "STOPPED",
    "STOPPED_CALL",
    "SUPERSEDED",
    "TASK_ACCEPTED",
    "TASK_DESCRIPTION",
    "called",
    "completion_request",
    "failed",
    "limit_request",
    "missing_tools",
    "repeated",
    "result_of",
    "slot_refused",
    "slot_set",
    "task_not_accepted",
    "timed_out",
    "unknown_tool",
    "value_missing",
]

NAMES_SHOWN = 40
NAME_SHOWN = 100

OPENING = "(The conversation begins.)"
CONTINUE = "(Go on with your task.)"
STOPPED = "(I was interrupted here.)"

STOPPED_CALL = (
    "The turn was stopped while this call was running. Whether it took effect is unknown: "
    "check before you repeat it."
)
NOT_EXECUTED = "This call was not executed."
NO_RESULT = "(The tool gave no result.)"
CUT_OFF = (
    "This call was not executed because your answer was cut off before its end. "
    "Send the call again, with shorter text around it."
)
SUPERSEDED = "Not applied: a later call of the same answer sets the same slot."
TASK_ACCEPTED = "Task completed"
TASK_DESCRIPTION = (
    "Ends your assignment and hands the conversation back. Call it once, when everything the "
    "assignment asks for is done, and write a brief, friendly closing line to the user in the "
    "same answer. It takes no arguments."
)
LIMIT_REPLY = (
    "I could not finish this just now. Tell me how you would like to go on, and I will pick it up."
)


def completion_request() -> str:
    """Ask for the closing line that was missing beside `task_completed`."""
    return (
        "Your assignment is done and will end with this answer. Write only the closing line for "
        "the user now: one short, warm sentence that fits what they said last. No tool calls, no "
        "summary, no explanation."
    )


def limit_request(budget: str, *, goes_on: bool) -> str:
    """Ask for an honest status report after `budget` ran out.

    Args:
        budget: The budget that ran out.
        goes_on: Whether the user can answer; else the assignment ends here.
    """
    reasons = {
        "steps": "the number of steps allowed for one reply is used up",
        "time": "the time allowed for one reply is used up",
        "tokens": "the amount of text allowed for one reply is used up",
        "repeats": "the same call keeps giving the same result",
        "refusals": "calls that cannot be carried out keep coming back",
    }
    end = " and ask how to go on" if goes_on else "; ask nothing, because you cannot go on"
    return (
        f"You must stop working for now because {reasons[budget]}. Do not call tools. Tell the "
        f"user in two or three sentences what is done and what is still open{end}. "
        "Do not claim that anything unfinished is finished."
    )


def missing_tools(origins: Sequence[str]) -> str:
    """Say which tools are absent for now."""
    listed = "; ".join(origins)
    return (
        f"Some of your tools cannot be reached right now ({listed}). If the user needs them, say "
        "that this does not work at the moment; do not pretend."
    )


def unknown_tool(name: str, known: Sequence[str]) -> str:
    """Refuse a call to a tool that was not offered."""
    name = name[:NAME_SHOWN]
    if not known:
        return f"There is no tool {name!r}; no tools are available. Answer in words."
    shown = ", ".join(sorted(known)[:NAMES_SHOWN])
    more = " and others" if len(known) > NAMES_SHOWN else ""
    return f"There is no tool {name!r}. The tools are: {shown}{more}. Use one of these names."


def slot_set(name: str, value: object) -> str:
    """Confirm a slot."""
    return f"Slot {name!r} is now {value!r}."


def value_missing(argument: str, given: Sequence[str]) -> str:
    """Why a slot was not set: the value stands under another name, or is not there."""
    others = f" There is no argument {', '.join(map(repr, given))}." if given else ""
    return f"the argument {argument!r} is missing.{others}"


def slot_refused(name: str, reason: str, value: object) -> str:
    """Refuse a slot value; the old one stays."""
    return f"Slot {name!r} was not changed and is still {value!r}: {reason}"


def task_not_accepted(failed: Sequence[str]) -> str:
    """Refuse completion beside failed calls."""
    names = ", ".join(sorted(set(failed)))
    return (
        f"Not accepted: the answer also called {names}, which did not succeed. Deal with that "
        "first, or tell the user."
    )


def repeated(count: int) -> str:
    """Point out that nothing new is learnt."""
    return (
        f"[This exact call has now given this same result {count} times. "
        "Calling it again will not help.]"
    )


def timed_out(name: str, seconds: float, *, unknown: bool) -> str:
    """Answer a call that took too long; `unknown` if it may have had an effect."""
    text = f"Tool {name!r} gave no answer within {seconds:g} seconds and was given up."
    if not unknown:
        return text
    return f"{text} Whether it took effect is unknown: check before you repeat it."


def failed(name: str, problem: str) -> str:
    """Answer a call whose tool broke."""
    return f"Tool {name!r} failed: {problem}"


def called(name: str, arguments: str) -> str:
    """A call in words, for a request that offers no tools."""
    return f"(I called {name} with {arguments}.)"


def result_of(name: str, result: str) -> str:
    """A result in words, for a request that offers no tools."""
    return f"(Result of {name}: {result})"
