from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from rasa_react_ext.testing.scripted_model import main
from tests.testing.bodies import body, user

COMMAND = (sys.executable, "-W", "error", "-m", "rasa_react_ext.testing.scripted_model")
SCRIPT = """
rules:
  - when: {user: hello}
    answer: Hi there.
  - when: {user: reset}
    fault: reset
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.yml"
    path.write_text(SCRIPT)
    return path


@contextmanager
def _running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen(
        (*COMMAND, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_as_a_process_it_prints_its_url_serves_and_ends_on_a_signal(
    script: Path, tmp_path: Path, number: signal.Signals
) -> None:
    log = tmp_path / "log.jsonl"
    with _running(str(script), "--request-log", str(log)) as (process, url):
        answer = httpx.post(f"{url}/v1/chat/completions", json=body(user("hello")))
        assert answer.json()["choices"][0]["message"]["content"] == "Hi there."
        with pytest.raises(httpx.ReadError):
            httpx.post(f"{url}/v1/chat/completions", json=body(user("reset")))
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""
    statuses = [json.loads(line)["status"] for line in log.read_text().splitlines()]
    assert statuses == [200, None]


def test_as_a_process_it_takes_a_profile(script: Path) -> None:
    with _running(str(script), "--profile", "bedrock") as (_, url):
        answer = httpx.post(f"{url}/v1/chat/completions", json=body(user(" ")))
        assert answer.json()["__type"] == "ValidationException"


def test_a_mistake_in_the_script_is_one_line_and_status_2(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text("rules: [{answr: x}]")
    assert main([str(script)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_a_request_costs_less_than_a_millisecond_and_a_half_of_processor_time(
    script: Path,
) -> None:
    asked = body(user("hello"), *[user("hello " * 40)] * 40)
    with (
        _running(str(script)) as (process, url),
        httpx.Client(base_url=url, timeout=10) as http,
    ):
        for _ in range(50):
            http.post("/v1/chat/completions", json=asked)
        before = _processor_seconds(process.pid)
        for _ in range(1000):
            http.post("/v1/chat/completions", json=asked)
        assert (_processor_seconds(process.pid) - before) / 1000 < 0.0015


def _processor_seconds(pid: int) -> float:
    """User and system time of a process, proc(5)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
