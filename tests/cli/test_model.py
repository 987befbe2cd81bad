"""`rasa-react model` as a person runs it: processes, their output and their exit codes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rasa_react_ext.cli.main import main
from rasa_react_ext.testing import Cassette, ScriptedModel
from tests.testing.bodies import body, user

COMMAND = (sys.executable, "-W", "error", "-m", "rasa_react_ext.cli", "model")
SCRIPT = """
rules:
  - when: {user: hello}
    answer: Hi there.
"""
ASK = """
import json, os, sys, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": sys.argv[1]}]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
assert os.environ["MODEL_URL"] == os.environ["OPENAI_API_BASE"] == os.environ["OPENAI_BASE_URL"]
key = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "text/json"}
request = urllib.request.Request(url, json.dumps(body).encode(), key)
try: print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
except urllib.error.HTTPError as error: print(error.code)
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.yml"
    path.write_text(SCRIPT)
    return path


@contextlib.contextmanager
def _running(*arguments: str | Path, **environment: str) -> Iterator[tuple[Any, str]]:
    """The process and the base URL it printed."""
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "", **environment},
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@contextlib.contextmanager
def _in_a_group(*arguments: str | Path, at_terminal: bool = False) -> Iterator[Any]:
    """The process as the head of a group; at a terminal it is the foreground."""
    terminal = [sys.executable, "-c", TERMINAL] if at_terminal else []
    with subprocess.Popen(
        [*terminal, *COMMAND, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _said(url: str, text: str, key: str = "a-client-key") -> str:
    headers = {"authorization": f"Bearer {key}"}
    with httpx.Client(trust_env=False, timeout=10) as client:
        answer = client.post(f"{url}/chat/completions", json=body(user(text)), headers=headers)
    return str((answer.json().get("choices") or [{"message": answer.json()}])[0]["message"])


def _asking(text: str, code: int = 0) -> list[str]:
    return ["--url-env", "MODEL_URL", "--", sys.executable, "-c", ASK, text, str(code)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_prints_the_base_url_and_ends_on_a_signal(
    script: Path, number: signal.Signals
) -> None:
    with _running("serve", script) as (process, url):
        assert url.endswith("/v1")
        assert "Hi there." in _said(url, "hello")
        assert "no_matching_rule" in _said(url, "what?")
        process.send_signal(number)
        assert process.wait(timeout=10) == 0
        lines = process.stderr.read().splitlines()
    assert lines[0].split() == ["1", "/v1/chat/completions", "200", "rules[1]"]
    assert "400  No rule of" in lines[1]


def test_record_then_replay_with_the_provider_gone(tmp_path: Path, script: Path) -> None:
    tape = tmp_path / "tape"
    with ScriptedModel(script).serve() as provider:
        options = ("--upstream", provider.base_url, "--api-key-env", "REAL", "--secret-env", "PIN")
        secret = {"REAL": "the-real-key-1", "PIN": "hunter22"}
        with _running("record", tape, *options, **secret) as (process, url):
            assert "Hi there." in _said(url, "hello hunter22")
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=10) == 0
            assert "001-" in process.stderr.read()
        assert provider.last.headers["authorization"] == "Bearer the-real-key-1"
    text = "".join(file.read_text() for file in tape.iterdir())
    assert not any(value in text for value in (*secret.values(), "a-client-key"))
    with _running("replay", tape, "--secret-env", "PIN", **secret) as (process, url):
        assert "Hi there." in _said(url, "hello hunter22")
        assert "no_recorded_answer" in _said(url, "hello, friend")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 0
        shown = process.stderr.read()
    assert "+messages[1].content: hello, friend" in shown


def test_variables_that_options_name_are_read_from_the_projects_env_file(
    tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".env").write_text("REAL=the-real-key-1\nPIN=hunter22\n", encoding="utf-8")
    monkeypatch.chdir(project)
    named = ("--api-key-env", "REAL", "--secret-env", "PIN")
    with ScriptedModel(script).serve() as provider:
        for way in (("record", "--upstream"), ("replay", "--update")):
            tape = tmp_path / way[0]
            arguments = (way[0], tape, way[1], provider.base_url, *named)
            with _running(*arguments) as (process, url):
                assert "Hi there." in _said(url, "hello hunter22")
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=10) == 0
            assert provider.last.headers["authorization"] == "Bearer the-real-key-1"
            assert "hunter22" not in "".join(file.read_text() for file in tape.iterdir())


def test_a_command_runs_beside_the_model_and_its_code_is_passed_on(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "serve", str(script), "--quiet", *_asking("hello")]) == 0
    assert main(["model", "serve", str(script), "--quiet", *_asking("hello", 7)]) == 7
    shown = capfd.readouterr()
    assert shown.out == "Hi there.\nHi there.\n"
    assert shown.err == ""


def test_a_command_that_asked_what_nobody_answers_has_failed(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["model", "serve", str(script), "--quiet", *_asking("what?")]) == 1
    shown = capfd.readouterr().err.splitlines()
    assert "No rule of" in shown[0]
    assert shown[-1] == "1 of 1 requests had no answer."


def test_a_command_records_and_updates_a_cassette(
    tmp_path: Path, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape"
    with ScriptedModel(script).serve() as provider:
        url = provider.base_url
        assert main(["model", "record", str(tape), "--upstream", url, *_asking("hello")]) == 0
        assert main(["model", "replay", str(tape), "--update", url, *_asking("hello")]) == 0
        assert main(["model", "replay", str(tape), "--update", url, *_asking("hello you")]) == 0
        assert provider.request_count == 2
    assert len(Cassette(tape).entries) == 2
    assert main(["model", "replay", str(tape), *_asking("hello you")]) == 0
    assert capfd.readouterr().out == "Hi there.\n" * 4


def test_a_signal_ends_the_command_too(script: Path) -> None:
    wait = "import sys, time; print('waiting', flush=True); time.sleep(60)"
    with _running("serve", script, "--", sys.executable, "-c", wait) as (process, line):
        assert line == "waiting"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=10) == 128 + signal.SIGTERM


CLEANS_UP = """
import signal, sys, time
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
print("waiting", flush=True)
while not heard: time.sleep(0.05)
print("cleaning up", flush=True)
sys.exit(int(sys.stdin.readline()) * len(heard))
"""
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


@pytest.mark.parametrize("way", ["serve", "record", "replay"])
def test_a_command_hears_of_ctrl_c_once_cleans_up_and_ends_with_its_own_code(
    tmp_path: Path, script: Path, way: str
) -> None:
    arguments = {
        "serve": [script],
        "record": [tmp_path / "tape", "--upstream", "http://127.0.0.1:1"],
        "replay": [tmp_path / "tape", "--update", "http://127.0.0.1:1"],
    }[way]
    at_terminal = way == "serve"
    command = [way, *arguments, "--", sys.executable, "-c", CLEANS_UP]
    with _in_a_group(*command, at_terminal=at_terminal) as process:
        assert process.stdout.readline() == "waiting\n"
        if at_terminal:
            process.stdin.write("\x03")
            process.stdin.flush()
        else:
            process.send_signal(signal.SIGINT)
        assert process.stdout.readline().endswith("cleaning up\n")
        process.stdin.write("7\n")
        process.stdin.flush()
        assert process.wait(timeout=10) == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_a_command_that_does_not_leave(
    script: Path, number: signal.Signals
) -> None:
    with _in_a_group("serve", script, "--", sys.executable, "-c", CLEANS_UP) as process:
        assert process.stdout.readline() == "waiting\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "cleaning up\n"
        process.send_signal(number)
        assert process.wait(timeout=10) == 128 + signal.SIGTERM


def test_an_answer_that_cannot_be_stored_is_given_and_told_at_the_end(
    tmp_path: Path, script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    tape = tmp_path / "tape"
    # Where the folder was, there is a file by the time of the answer.
    code = f"import os; os.rmdir({str(tape)!r}); open({str(tape)!r}, 'w').close(){ASK}"
    run = ["--quiet", "--url-env", "MODEL_URL", "--", sys.executable, "-c", code, "hello", "0"]
    with ScriptedModel(script).serve() as provider:
        arguments = ["record", str(tape), "--upstream", provider.base_url, *run]
        assert main(["model", *arguments]) == 6
    shown = capfd.readouterr()
    assert shown.out == "Hi there.\n"
    assert shown.err.startswith("1 answer was given but not written down: ")
    assert str(tape) in shown.err
    assert shown.err.count("\n") == 1


def test_a_request_log_gets_its_folder(tmp_path: Path, script: Path) -> None:
    log = tmp_path / "some" / "folder" / "log.jsonl"
    given = ["--request-log", str(log), "--quiet", *_asking("hello")]
    assert main(["model", "serve", str(script), *given]) == 0
    assert "Hi there." in log.read_text(encoding="utf-8")


def test_a_request_log_that_is_full_is_told_at_the_end(
    script: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = ["--request-log", "/dev/full", "--quiet", *_asking("hello")]
    assert main(["model", "serve", str(script), *given]) == 6
    shown = capfd.readouterr()
    assert shown.out == "Hi there.\n"
    assert "'/dev/full' cannot be written: No space left on device." in shown.err
    assert shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["serve", os.devnull], 3, "/dev/null: rules: the file is empty. Write a list of rules"),
        (["serve", "no.yml"], 3, "no.yml: rules: the script cannot be read"),
        (["serve", "{script}", "--profile", "odd"], 2, "there is no profile 'odd'. Profiles: "),
        (["serve", "{script}", "--profile", "openia"], 2, "Did you mean 'openai'?"),
        (["serve", "{script}", "--port", "99999"], 2, "0<=x<=65535"),
        (
            ["serve", "{script}", "--port", "{taken}"],
            6,
            "Address already in use. Give another --port.",
        ),
        (["serve", "{script}", "--", "no-such-program"], 127, "no command 'no-such-program'"),
        (["serve", "{script}", "--", "{script}"], 126, "Make it executable."),
        (["serve", "{script}", "--", "{lost}"], 127, "'#!/no/such/sh -e', which is not there."),
        (["serve", "{script}", "--", "{bare}"], 126, "'{bare}' cannot be run: Exec format error."),
        (["serve", "{script}", "--request-log", "/proc/x/log"], 6, "cannot be written"),
        (["serve", "{script}", "--request-log", "{script}/log"], 6, "cannot be written"),
        (["record", "/proc/tape", "--upstream", "http://x", "--", "true"], 6, "'/proc/tape'"),
        (["record", "/sys/tape", "--upstream", "http://x", "--", "true"], 6, "'/sys/tape'"),
        (["replay", "/proc/tape", "--update", "http://x", "--", "true"], 6, "'/proc/tape'"),
        (["record", "tape", "--upstream", "api.example"], 2, "'api.example' is no base URL"),
        (["record", "tape", "--upstream", "ftp://x"], 2, "'ftp://x' is no base URL"),
        (["replay", "tape", "--update", "ftp://x"], 2, "'ftp://x' is no base URL"),
        (["record", "{script}", "--upstream", "http://x"], 3, "this is a file"),
        (["record", "t", "--upstream", "http://x", "--api-key-env", "NO_KEY"], 3, "NO_KEY"),
        (["replay", "no-tape"], 3, "no-tape: cassette: there is no recorded exchange in it"),
    ],
)
def test_what_cannot_work_is_one_line_and_a_code(
    arguments: list[str], code: int, said: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lost, bare = script.with_name("lost"), script.with_name("bare")
    for program, text in ((lost, "#!/no/such/sh -e\n"), (bare, "exit 0\n")):
        program.write_text(text)
        program.chmod(0o755)
    with ScriptedModel(script).serve() as other:
        port = other.url.rpartition(":")[2]
        values = {"script": script, "taken": port, "lost": lost, "bare": bare}
        assert main(["model", *[argument.format(**values) for argument in arguments]]) == code
    shown = capsys.readouterr().err
    assert said.format(**values) in shown
    assert shown.startswith("Error: ")
    assert shown.count("\n") == 1
