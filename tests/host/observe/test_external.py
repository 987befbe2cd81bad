"""What is noted of external agents: in the record, and where that cannot be written."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from rasa_react_ext.host.observe import external
from rasa_react_ext.host.observe.external import ExternalWatch, external_after_turn, external_turn
from rasa_react_ext.host.observe.trace_path import trace_path
from rasa_react_ext.host.observe.trace_record import TraceRecord, TurnLabel

LABEL = TurnLabel(
    conversation="anna", turn="t1", agent="broker", flow="trade", step="s", user="Buy it"
)


def _record(folder: Path) -> TraceRecord:
    return TraceRecord(folder, LABEL, full=False)


def _lines(folder: Path) -> list[dict[str, Any]]:
    file = trace_path(folder, "anna")
    if not file.is_file():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(RuntimeError("secret words"), "failed"), (asyncio.CancelledError(), "cancelled")],
)
def test_a_turn_that_breaks_off_is_recorded_with_its_kind_only(
    tmp_path: Path, error: BaseException, outcome: str
) -> None:
    def turn() -> None:
        with external_turn("broker", "anna", _record(tmp_path)) as watch:
            watch.asked()
            raise error

    with pytest.raises(type(error)):
        turn()
    begun, asked, ended = _lines(tmp_path)
    assert (begun["what"], begun["user"], begun["kind"]) == ("turn_started", "Buy it", "external")
    assert asked["what"] == "agent_asked"
    assert (ended["outcome"], ended["reason"]) == (outcome, type(error).__name__)


@pytest.mark.parametrize(
    ("status", "failed", "shown"),
    [
        ("submitted", False, "background"),
        ("input_required", False, "background"),
        ("completed", False, "completed"),
        ("fatal_error", True, "failed"),
    ],
)
def test_a_turn_that_leaves_a_task_at_work_ends_as_background(
    tmp_path: Path, status: str, failed: bool, shown: str
) -> None:
    with external_turn("broker", "anna", _record(tmp_path)) as watch:
        watch.went_on("task-1")
        watch.ended(status, failed=failed)
    assert _lines(tmp_path)[-1]["outcome"] == shown


@pytest.mark.parametrize(
    ("status", "failed", "more"),
    [("completed", False, {}), ("fatal_error", True, {"error.type": "fatal_error"})],
)
def test_a_turn_is_timed_and_a_failed_one_bears_its_class_and_no_words(
    monkeypatch: pytest.MonkeyPatch, status: str, failed: bool, more: dict[str, str]
) -> None:
    reader = InMemoryMetricReader()
    meter = MeterProvider(metric_readers=[reader]).get_meter("test")
    monkeypatch.setattr(external, "_time", meter.create_histogram("time"))
    with external_turn("broker", "anna") as watch:
        watch.ended(status, failed=failed, reason="secret words")
    data = json.loads(reader.get_metrics_data().to_json())
    (metric,) = data["resource_metrics"][0]["scope_metrics"][0]["metrics"]
    (point,) = metric["data"]["data_points"]
    names = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "broker"}
    assert (point["count"], point["attributes"]) == (1, {**names, **more})


def test_what_is_not_worth_a_line_is_not_recorded(tmp_path: Path) -> None:
    with external_after_turn("cancel_task", "broker", "anna", "", _record(tmp_path)) as watch:
        watch.ended("not_reached", failed=True, recorded=False)
    assert _lines(tmp_path) == []


def test_a_record_that_cannot_be_written_does_not_disturb_the_turn(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    with external_turn("broker", "anna", _record(tmp_path / "file" / "traces")) as watch:
        watch.ended("completed")


def test_without_a_record_nothing_is_noted() -> None:
    watch = ExternalWatch()
    watch.asked()
    watch.accepted("t", "c")
    watch.said("x")
    watch.answered("completed", "x")
    watch.went_on("t")
    watch.ended("completed")
