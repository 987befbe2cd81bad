"""The record of a conversation: complete, in order, without secrets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rasa_react_ext.engine import occurrence as engine
from rasa_react_ext.engine.batch import Planned
from rasa_react_ext.engine.decision import Outcome
from rasa_react_ext.engine.message import ModelAnswer, TokenUsage, ToolCall
from rasa_react_ext.engine.tool import ToolResult
from rasa_react_ext.host.observe.trace_file import TraceFile, TurnLabel
from rasa_react_ext.host.observe.trace_path import trace_path
from rasa_react_ext.host.observe.trace_record import SHORT

ANSWER = ModelAnswer(
    text="Let me see.",
    calls=(ToolCall(id="c1", name="find", arguments="{}"),),
    finish_reason="tool_calls",
    usage=TokenUsage(prompt=10, completion=2),
    model="gpt",
    first_token_ms=12.0,
    total_ms=30.0,
)


def _label(conversation: str = "customer") -> TurnLabel:
    return TurnLabel(
        conversation=conversation, turn="t1", agent="desk", flow="f", step="s", user="Hello"
    )


def _call(arguments: dict[str, Any], result: str = "ok") -> engine.CallFinished:
    return engine.CallFinished(
        call=Planned(position=0, id="c1", name="find", arguments=arguments),
        result=ToolResult(text=result),
        duration_ms=5.0,
        batch=1,
    )


def _ended() -> engine.RunEnded:
    return engine.RunEnded(outcome=Outcome.COMPLETED, reason="", model_calls=1, tokens=12)


def _record(folder: Path, *seen: engine.Occurrence, full: bool = False) -> list[dict[str, Any]]:
    trace = TraceFile(folder, _label(), full=full)
    for occurrence in (*seen, _ended()):
        trace.on(occurrence)
    text = trace_path(folder, "customer").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_every_occurrence_is_a_line_in_true_order(tmp_path: Path) -> None:
    planned = Planned(position=0, id="c1", name="find")
    lines = _record(
        tmp_path,
        engine.RunStarted(tools=("find",)),
        engine.ModelAsked(attempt=1, messages=2, closing=None),
        engine.ModelFailed(kind="timeout", message="slow", retry_in_seconds=0.5),
        engine.ModelAsked(attempt=2, messages=2, closing=None),
        engine.ModelAnswered(answer=ANSWER),
        engine.Spoke(text="Let me see.", kind="filler", answer=ANSWER, streamed=False),
        engine.CallStarted(call=planned),
        _call({"q": "x"}),
        engine.SlotSet(name="topic", value="tax"),
    )
    assert [line["what"] for line in lines] == [
        "turn_started",
        "model_asked",
        "model_failed",
        "model_asked",
        "model_answered",
        "spoke",
        "call_started",
        "call_finished",
        "slot_set",
        "turn_ended",
    ]
    assert lines[0]["user"] == "Hello"
    assert (lines[4]["prompt_tokens"], lines[4]["first_token_ms"]) == (10, 12.0)
    assert lines[7]["arguments"] == {"q": "x"}
    assert lines[-1]["outcome"] == "completed"
    assert {line["turn"] for line in lines} == {"t1"}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    "key", ["password", "api_key", "access_token", "Authorization", "client_secret", "pin"]
)
def test_values_under_secret_names_are_never_written(tmp_path: Path, key: str, full: bool) -> None:
    nested = {"account": {key: "tell-nobody"}, "also": [{key: "tell-nobody"}]}
    lines = _record(tmp_path, _call({key: "tell-nobody", **nested}), full=full)
    assert "tell-nobody" not in json.dumps(lines)
    assert lines[0]["arguments"][key] == "(hidden)"


def test_a_slot_with_a_secret_name_is_written_without_its_value(tmp_path: Path) -> None:
    lines = _record(tmp_path, engine.SlotSet(name="card_pin_token", value="4711"))
    assert lines[0]["value"] == "(hidden)"


@pytest.mark.parametrize("full", [False, True])
def test_no_text_of_a_turn_is_written_with_a_secret_in_it(tmp_path: Path, full: bool) -> None:
    key = "sk-abcdef0123456789abcdef"
    words = f"{'x' * (SHORT - 30)} The key {key} is refused."
    trace = TraceFile(tmp_path, replace(_label(), user=words), full=full)
    for occurrence in (
        engine.RunStarted(tools=("find",)),
        engine.ModelFailed(kind="refused_request", message=words, retry_in_seconds=None),
        engine.ModelAnswered(answer=replace(ANSWER, text=words)),
        engine.Spoke(text=words, kind="filler", answer=ANSWER, streamed=False),
        _call({"q": words}, result=words),
        _call({"password": "open-sesame-1"}, result="open-sesame-1 is wrong"),
        engine.SlotSet(name="topic", value=[words]),
        replace(_ended(), reason=words),
    ):
        trace.on(occurrence)
    text = trace_path(tmp_path, "customer").read_text(encoding="utf-8")
    for secret in (key[:10], "open-sesame-1"):
        assert secret not in text
    assert text.count("<removed>") == 9


def test_long_values_are_cut_and_say_how_long_they_were(tmp_path: Path) -> None:
    lines = _record(tmp_path, _call({}, result="x" * 1000))
    assert lines[0]["result"] == f"{'x' * SHORT} … (1000 characters)"


def test_full_content_keeps_long_values(tmp_path: Path) -> None:
    assert _record(tmp_path, _call({}, result="x" * 1000), full=True)[0]["result"] == "x" * 1000


def test_turns_of_a_conversation_follow_each_other_in_one_file(tmp_path: Path) -> None:
    _record(tmp_path, _call({}))
    assert len(_record(tmp_path, _call({}))) == 4


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "a:b/c", "x" * 300, "ü", "", ".hidden", "../we ird"]
)
def test_any_conversation_id_gives_a_file_in_the_folder_and_no_two_meet(
    tmp_path: Path, name: str
) -> None:
    path = trace_path(tmp_path, name)
    assert path.parent == tmp_path
    assert len(path.name) < 120
    assert not path.name.startswith(".")
    assert path != trace_path(tmp_path, f"{name}x")
