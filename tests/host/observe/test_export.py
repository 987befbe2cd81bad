"""What a whole assistant exports: by the standard environment, and by the host's own tracing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

from demo.backend import ROOT
from rasa_react_ext.host.observe.environment import configure_from_environment
from tests.host.observe.collector import Collected, grpc_collector, http_collector
from tests.sample import Sample, running_sample

SECONDS = 90
METRICS = {
    "gen_ai.client.operation.duration",
    "gen_ai.client.token.usage",
    "rasa_react_ext.tool.duration",
}
ASKED = "How is Nordwind doing?"


@pytest.fixture(scope="module")
def sample() -> Iterator[Sample]:
    with running_sample() as running:
        yield running


def test_spans_and_metrics_go_to_the_collector_that_the_environment_names(
    sample: Sample, forked: list[str]
) -> None:
    with http_collector() as collected:
        _talk(forked, sample, {"OTEL_EXPORTER_OTLP_ENDPOINT": collected.endpoint})
    _check_agent_spans(collected)
    assert collected.metric_names >= METRICS
    _check_no_content(collected)


def test_nothing_is_set_up_when_the_environment_switches_it_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    before = trace.get_tracer_provider()
    configure_from_environment()
    assert trace.get_tracer_provider() is before


def test_spans_join_the_hosts_trace_and_metrics_go_with_the_hosts_where_it_is_configured(
    sample: Sample, tmp_path: Path, forked: list[str]
) -> None:
    endpoints = tmp_path / "endpoints.yml"
    with grpc_collector() as collected:
        text = (ROOT / "endpoints.yml").read_text(encoding="utf-8")
        place = f"\n  type: otlp\n  endpoint: {collected.endpoint}\n  insecure: true\n"
        endpoints.write_text(f"{text}\ntracing:{place}metrics:{place}", encoding="utf-8")
        _talk(forked, sample, {}, "--endpoints", str(endpoints))
    _check_agent_spans(collected)
    assert collected.metric_names >= METRICS
    (run,) = _named(collected, "invoke_agent stock_explorer")
    by_id = {span.span_id: span for span in collected.spans}
    above: list[str] = []
    while run.parent_span_id:
        run = by_id[run.parent_span_id]
        above.append(run.name)
    assert any("Agent" in name for name in above), above


def _check_agent_spans(collected: Collected) -> None:
    (run,) = _named(collected, "invoke_agent stock_explorer")
    tools = [span for span in collected.spans if span.name.startswith("execute_tool ")]
    assert {span.name.partition(" ")[2] for span in tools} == {
        "find_symbol",
        "fetch_live_price",
        "get_company_news",
        "apply_technical_analysis",
    }
    chats = [span for span in collected.spans if span.name.startswith("chat ")]
    assert len(chats) == 3
    for span in chats:
        names = {attribute.key for attribute in span.attributes}
        assert names >= {"gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model"}
    for span in (*tools, *chats):
        assert (span.trace_id, span.parent_span_id) == (run.trace_id, run.span_id)
        assert span.end_time_unix_nano >= span.start_time_unix_nano


def _check_no_content(collected: Collected) -> None:
    for words in (b"Nordwind", b"110.96", b"look that up"):
        assert words not in collected.raw


def _named(collected: Collected, name: str) -> list[Any]:
    return [span for span in collected.spans if span.name == name]


def _talk(
    python: list[str], sample: Sample, environment: Mapping[str, str], *arguments: str
) -> None:
    command = [*python, "-m", "rasa_react_ext.cli", "chat", "--model", str(sample.archive)]
    done = subprocess.run(
        [*command, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        input=f"{ASKED}\n",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "NWND trades at" in done.stdout
