"""Reads the JSON-lines record of a conversation into turns with bars and rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rasa_react_ext.errors import ConfigurationError

__all__ = ["read_record"]

Line = Mapping[str, Any]

_KEYS = {"at", "ms", "turn", "agent", "what"}


def read_record(
    path: Path, on_left_out: Callable[[list[int]], None] | None = None
) -> list[dict[str, Any]]:
    """The agent turns of a record, in the order in which they began.

    A line that cannot be used, such as the last one of a process that was killed, is left out.

    Args:
        path: A file that `trace_folder` made.
        on_left_out: Told the numbers of the lines that were left out, if there are any.

    Returns:
        For each turn what was said, its bars (model calls and tools, in milliseconds
        from its start), its rows (everything that happened; `bad` where it went wrong)
        and how many errors they are.

    Raises:
        ConfigurationError: The file is missing, empty or has no line of a record.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _refusal(path, "file", f"it cannot be read ({error}).") from error
    entries = {number: _entry(line) for number, line in enumerate(lines, 1) if line.strip()}
    turns: dict[str, list[Line]] = {}
    for entry in entries.values():
        if entry is not None:
            turns.setdefault(str(entry["turn"]), []).append(entry)
    left_out = [number for number, entry in entries.items() if entry is None]
    if not turns:
        why = f"line {left_out[0]} is no line of a record." if left_out else "it holds no record."
        raise _refusal(path, "file", why)
    if left_out and on_left_out is not None:
        on_left_out(left_out)
    return [_turn(of_turn) for of_turn in turns.values()]


def _entry(line: bytes) -> Line | None:
    """A line of a record; None where it is none."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or not entry.keys() >= _KEYS:
        return None
    return entry if isinstance(entry["ms"], int | float) else None


def _refusal(path: Path, key: str, problem: str) -> ConfigurationError:
    return ConfigurationError(
        file=str(path),
        key=key,
        problem=problem,
        fix="Give a .jsonl file of the folder that `rasa_react_ext: trace_folder` names.",
    )


def _turn(lines: list[Line]) -> dict[str, Any]:
    start = next((line for line in lines if line["what"] == "turn_started"), lines[0])
    end = next((line for line in lines if line["what"] == "turn_ended"), None)
    return {
        "id": start["turn"],
        "at": start["at"],
        "agent": start["agent"],
        "conversation": start.get("conversation", ""),
        "flow": start.get("flow", ""),
        "user": start.get("user", ""),
        "kind": start.get("kind", ""),
        "tools": start.get("tools", []),
        "outcome": end.get("outcome", "") if end else "unfinished",
        "reason": end.get("reason", "") if end else "",
        "tokens": end.get("tokens", 0) if end else 0,
        "ms": lines[-1]["ms"],
        "bars": sorted(
            [*_model_bars(lines), *_tool_bars(lines), *_agent_bars(lines)],
            key=lambda bar: (bar["from"], bar["to"]),
        ),
        "rows": [{**line, "bad": _is_bad(line)} for line in lines],
        "errors": _errors(lines),
    }


def _is_bad(line: Line) -> bool:
    return (
        line["what"] == "model_failed"
        or line.get("is_error") is True
        or line.get("outcome") == "failed"
        or line.get("state") in _BAD_STATES
    )


def _errors(lines: Iterable[Line]) -> int:
    """How many things went wrong; a turn that failed by one that is told is not one more."""
    bad = [line for line in lines if _is_bad(line)]
    told = any(
        line["what"] == "agent_answered"
        or (line["what"] == "model_failed" and line.get("retry_in_seconds") is None)
        for line in bad
    )
    return sum(not told or line["what"] != "turn_ended" for line in bad)


def _model_bars(lines: Iterable[Line]) -> list[dict[str, Any]]:
    bars: list[dict[str, Any]] = []
    asked: Line | None = None
    for line in lines:
        if line["what"] == "model_asked":
            asked = line
        elif line["what"] in {"model_answered", "model_failed"} and asked is not None:
            failed = line["what"] == "model_failed"
            bars.append(
                {
                    "kind": "model",
                    "name": line.get("model") or "model",
                    "from": asked["ms"],
                    "to": line["ms"],
                    "first": line.get("first_token_ms"),
                    "bad": failed,
                    "note": line.get("kind", "") if failed else _tokens(line),
                }
            )
            asked = None
    return bars


def _tokens(line: Line) -> str:
    prompt, completion = line.get("prompt_tokens"), line.get("completion_tokens")
    return "" if prompt is None else f"{prompt} + {completion} tokens"


def _tool_bars(lines: Iterable[Line]) -> list[dict[str, Any]]:
    begun: dict[str, float] = {}
    bars: list[dict[str, Any]] = []
    for line in lines:
        if line["what"] == "call_started":
            begun[str(line["call"])] = line["ms"]
        elif line["what"] == "call_finished" and line.get("duration_ms") is not None:
            start = begun.get(str(line["call"]), line["ms"] - line["duration_ms"])
            bars.append(
                {
                    "kind": "tool",
                    "name": line["tool"],
                    "from": start,
                    "to": start + line["duration_ms"],
                    "first": None,
                    "bad": bool(line["is_error"]),
                    "note": "outcome unknown" if line.get("outcome_unknown") else "",
                }
            )
    return bars


def _agent_bars(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """From the message that went out to an external agent until it stopped or was left alone."""
    asked: Line | None = None
    first: Line | None = None
    for line in lines:
        if line["what"] == "agent_asked":
            asked = line
        elif asked is None:
            continue
        elif line["what"] == "agent_said":
            first = first or line
        elif line["what"] in {"agent_answered", "agent_in_background", "turn_ended"}:
            bar = {
                "kind": "agent",
                "name": line["agent"],
                "from": asked["ms"],
                "to": line["ms"],
                "first": first["ms"] - asked["ms"] if first else None,
                "bad": _is_bad(line),
                "note": _agent_note(line),
            }
            return [bar]
    return []


_BAD_STATES = frozenset({"failed", "rejected", "canceled"})


def _agent_note(line: Line) -> str:
    if line["what"] == "agent_in_background":
        return "goes on in the background"
    return str(line.get("state") or line.get("outcome") or "").replace("_", " ")
