"""Models that never do what they should: their scripts, and what must come of a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SCRIPTS", "Hostile"]

LOOK = {"name": "look_up", "arguments": {"item": "lamp"}}
NEW = {"name": "look_up", "arguments": {"item": "lamp {{ step }}"}}
RESERVE = {"name": "reserve", "arguments": {"item": "lamp"}}
COMPLETE = {"name": "task_completed"}
WAITS, FAILS = "input_required", "fatal_error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hostile:
    """A model script and what must come of it.

    Attributes:
        rules: Rules of the scripted model.
        outcome: Status of the turn.
        calls: Most model calls that the turn may make.
        never: Tools that must not have run.
        streamed: Whether the channel shows texts as they come.
        budget_seconds: `configuration.timeout` of the agent.
    """

    rules: Sequence[Mapping[str, Any]]
    outcome: str
    calls: int
    never: Sequence[str] = field(default_factory=tuple)
    streamed: bool = False
    budget_seconds: int = 8


def _always(answer: Mapping[str, Any] | str) -> list[Mapping[str, Any]]:
    return [{"answer": answer}]


_UNKNOWN = [{"calls": [{"name": f"sell_{number}"}]} for number in range(40)]
_WRONG = [
    {"name": "look_up", "arguments": '{"item": "la'},
    {"name": "look_up", "arguments": '"{\\"item\\": \\"lamp\\"}"'},
    {"name": "look_up", "arguments": '"\\"{\\\\\\"item\\\\\\": 1}\\""'},
    {"name": "look_up", "arguments": "[1, 2]"},
    {"name": "look_up", "arguments": ""},
    {"name": "look_up", "arguments": None},
]
_ODD = [
    {"name": "look_up", "id": "x" * 300, "arguments": '{"item": NaN}'},
    {"name": "", "arguments": {}},
    {"name": "look up!", "arguments": {"item": "lamp"}},
    {"name": "sell_" + "x" * 300, "arguments": {}},
    {"name": "søk_opp", "id": "", "arguments": {}},
    {"name": "look_up", "arguments": '{"item": ' + "[" * 5000 + "]" * 5000 + "}"},
    {"name": "look_up", "arguments": '{"item": "\\ud800 lamp"}'},
]
_HALF = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "gemini-2.5-flash",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "I see \ud83d",
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "look_up", "arguments": '{"item": "\ud83d"}'},
                        "extra_content": {"google": {"thought_signature": "signature-of-look_up"}},
                    }
                ],
            },
        }
    ],
}
_THOUSAND = [{"name": "look_up", "arguments": {"item": f"lamp {n}"}} for n in range(1000)]

SCRIPTS: Mapping[str, Hostile] = {
    "calls without end": Hostile(rules=_always({"calls": [NEW]}), outcome=WAITS, calls=12),
    "the same call for ever": Hostile(rules=_always({"calls": [LOOK]}), outcome=WAITS, calls=5),
    "only blanks": Hostile(rules=_always({"text": " \n\t"}), outcome=FAILS, calls=3),
    "only a thinking block": Hostile(
        rules=_always({"text": "<think>What to do?</think>"}), outcome=FAILS, calls=3
    ),
    "only reasoning": Hostile(rules=_always({"reasoning": "What to do?"}), outcome=FAILS, calls=3),
    "broken and twice encoded arguments": Hostile(
        rules=_always({"calls": _WRONG}), outcome=WAITS, calls=12
    ),
    "the same unknown tool for ever": Hostile(
        rules=_always({"calls": [{"name": "sell"}]}), outcome=WAITS, calls=5
    ),
    "ever other unknown tools": Hostile(rules=[{"answers": _UNKNOWN}], outcome=WAITS, calls=12),
    "completion beside a failing tool for ever": Hostile(
        rules=_always({"text": "Bye.", "calls": [{"name": "fail"}, COMPLETE]}),
        outcome=WAITS,
        calls=5,
    ),
    "calls in the closing answer": Hostile(
        rules=[
            {"when": {"tool_choice": "none"}, "answer": {"text": "So far.", "calls": [RESERVE]}},
            {"answer": {"calls": [NEW]}},
        ],
        outcome=WAITS,
        calls=11,
        never=["reserve"],
    ),
    "cut-off calls for ever": Hostile(
        rules=_always(
            {"text": "I wi", "calls": [{**RESERVE, "arguments": '{"it'}], "finish_reason": "length"}
        ),
        outcome=WAITS,
        calls=5,
        never=["reserve"],
    ),
    "a body cut every time": Hostile(
        rules=[{"fault": {"cut": {"answer": "A long story about lamps and vases."}}}],
        outcome=FAILS,
        calls=4,
    ),
    "a stream cut every time": Hostile(
        rules=[{"fault": {"cut": {"after_chunks": 2, "answer": "A long story about lamps."}}}],
        outcome=FAILS,
        calls=4,
        streamed=True,
    ),
    "come back in ten minutes": Hostile(
        rules=[{"fault": {"status": 429, "headers": {"retry-after": "600"}}}],
        outcome=FAILS,
        calls=2,
    ),
    "a content filter": Hostile(rules=[{"fault": "content_filter"}], outcome=FAILS, calls=2),
    "a thousand calls in one answer": Hostile(
        rules=_always({"calls": _THOUSAND}), outcome=WAITS, calls=12, budget_seconds=3
    ),
    "one id for all calls for ever": Hostile(
        rules=_always({"calls": [{**NEW, "id": "x"}, {**LOOK, "id": "x"}]}), outcome=WAITS, calls=5
    ),
    "names, ids and values that are none": Hostile(
        rules=_always({"calls": _ODD}), outcome=WAITS, calls=12
    ),
    "half a letter for ever": Hostile(
        rules=[{"fault": {"malformed": json.dumps(_HALF)}}], outcome=WAITS, calls=5
    ),
    "no answer at all": Hostile(
        rules=[{"fault": "hang"}], outcome=WAITS, calls=3, budget_seconds=2
    ),
    "an answer that is no JSON": Hostile(
        rules=[{"fault": {"malformed": "<html>"}}], outcome=FAILS, calls=3
    ),
}
