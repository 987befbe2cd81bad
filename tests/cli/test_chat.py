"""`rasa-react chat` with the trained sample, typed into from outside."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from demo.backend import ROOT, free_port
from rasa_react_ext.cli.failure import ExitCode
from rasa_react_ext.cli.main import main
from rasa_react_ext.cli.page import read_record
from rasa_react_ext.cli.screen import Screen
from rasa_react_ext.cli.talk import converse
from tests.sample import running_sample

SECONDS = 90


@pytest.fixture(scope="module")
def chat(forked: list[str]) -> Iterator[list[str]]:
    """The command, for the trained sample with everything it talks to."""
    with running_sample() as sample:
        yield [*forked, "-m", "rasa_react_ext.cli", "chat", "--model", str(sample.archive)]


def test_a_piped_conversation_shows_texts_tools_and_slots_and_ends_at_stop(chat: list[str]) -> None:
    done = _chat(
        chat,
        "How is Nordwind doing?\n/slots\n/trace\n/help\nI need an adviser on retirement, 50000\n"
        "/stop\nHow is Aurora doing?\n",
    )
    assert (done.returncode, done.stderr) == (ExitCode.DONE, "")
    shown = done.stdout
    assert "you > How is Nordwind doing?\nbot > One moment, I look that up.\n" in shown
    assert "  agent stock_explorer started\n" in shown
    assert "bot > One moment, I look that up.\n" in shown
    assert '  … find_symbol {"query": "Nordwind"}\n' in shown
    assert "  ✓ fetch_live_price in " in shown
    assert "bot > NWND trades at 110.96 EUR." in shown
    assert "No slot is set." in shown
    assert "No record: set trace_folder" in shown
    assert shown.count("/slots shows slots") == 2
    assert '  advisor_topic = "retirement"\n' in shown
    assert "Aurora" not in shown
    # What the host keeps for itself is not the user's business.
    for slot in ("flow_hashes", "session_started_metadata", "language"):
        assert slot not in shown


def test_a_recorded_conversation_is_drawn_without_the_hosts_words_in_the_users_place(
    chat: list[str], tmp_path: Path
) -> None:
    endpoints = tmp_path / "endpoints.yml"
    section = f"rasa_react_ext:\n  trace_folder: {tmp_path / 'traces'}\n"
    text = (ROOT / "endpoints.yml").read_text(encoding="utf-8")
    endpoints.write_text(f"{text}\n{section}", encoding="utf-8")
    typed = "How is Nordwind doing?\nWhen are you open?\nYes, please.\n/trace\n"
    done = _chat(chat, typed, "--endpoints", str(endpoints), "--sender", "customer")
    record = tmp_path / "traces" / "customer.jsonl"
    assert f"rasa-react trace {record}" in done.stdout
    asked, resumed = read_record(record)
    assert asked["user"] == "How is Nordwind doing?"
    assert {bar["name"] for bar in asked["bars"] if bar["kind"] == "tool"} >= {"find_symbol"}
    assert resumed["user"] == ""
    assert main(["trace", str(record)]) == ExitCode.DONE
    assert "How is Nordwind doing?" in record.with_suffix(".html").read_text(encoding="utf-8")


def test_a_server_that_is_down_is_told_before_the_first_word(chat: list[str]) -> None:
    port = free_port()
    with _environment(WEALTH_DESK_MARKET_URL=f"http://127.0.0.1:{port}/mcp"):
        done = _chat(chat, "/stop\n")
    before, _, _ = done.stdout.partition("Welcome")
    assert "MCP server market" in before
    assert "Its tools are absent until it answers." in before


def test_a_model_that_is_down_is_told_beside_the_words_the_user_hears(chat: list[str]) -> None:
    with _environment(OPENAI_BASE_URL=f"http://127.0.0.1:{free_port()}/v1"):
        done = _chat(chat, "How is Nordwind doing?\n/stop\n")
    assert (done.returncode, done.stderr) == (ExitCode.DONE, "")
    told = [line for line in done.stdout.splitlines() if line.strip().startswith("Rasa reports")]
    assert told
    assert all(line.count("\x1b") == 0 for line in told)
    assert "event_info" not in done.stdout


def test_ctrl_c_ends_with_its_code_and_without_a_traceback(chat: list[str]) -> None:
    with subprocess.Popen(
        chat,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            while "Welcome" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == ExitCode.INTERRUPTED
            assert process.stderr.read().strip() == ""
        finally:
            process.kill()


def test_ctrl_c_in_a_terminal_stops_the_turn_and_a_second_one_ends_the_chat(
    chat: list[str],
) -> None:
    mine, theirs = pty.openpty()
    with (
        contextlib.ExitStack() as stack,
        socket.create_server(("127.0.0.1", 0)) as silent,
    ):  # a model that never answers
        silent.settimeout(SECONDS / 3)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with (
            _environment(OPENAI_BASE_URL=url, TERM="xterm"),
            subprocess.Popen(chat, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs) as process,
        ):
            try:
                _shown_until(mine, "you >")
                os.write(mine, b"How is Nordwind doing?\n")
                asked, _ = silent.accept()
                stack.callback(asked.close)
                process.send_signal(signal.SIGINT)
                _shown_until(mine, "Stopping the turn")
                process.send_signal(signal.SIGINT)
                assert process.wait(SECONDS) == ExitCode.INTERRUPTED
            finally:
                process.kill()
                os.close(mine)
                os.close(theirs)


def _shown_until(terminal: int, words: str) -> str:
    """What a terminal shows until some words have come."""
    shown, until = "", time.monotonic() + SECONDS / 3
    while words not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"{words!r} has not come: {shown}"
        shown += os.read(terminal, 4096).decode(errors="replace")
    return shown


def test_a_missing_model_is_one_line_before_the_host_is_imported(tmp_path: Path) -> None:
    done = _refused([sys.executable, "-X", "importtime"], tmp_path, ["--model", "nope"])
    assert "import time:" in done.stderr
    assert " rasa.core" not in done.stderr
    assert "nope: model: there is no trained model here. Train the assistant: " in done.stderr
    assert "the page on testing in the package's documentation" in done.stderr


@pytest.mark.parametrize("option", ["--endpoints", "--sub-agents"])
def test_a_file_that_is_named_and_not_there_is_refused(
    tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "a.tar.gz"
    model.touch()
    code = main(["chat", "--model", str(model), option, "nope"])
    assert code == ExitCode.CONFIGURATION
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"nope: {option.lstrip('-')}: it is not there. Correct {option}.")


def test_a_mistake_in_a_file_is_no_fault_of_this_package(tmp_path: Path, forked: list[str]) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.tar.gz").touch()
    servers = "mcp_servers:\n  - name: rooms\n    type: http\n    url: ${ROOMS_URL}\n"
    (tmp_path / "endpoints.yml").write_text(servers, encoding="utf-8")
    done = _refused(forked, tmp_path, [])
    assert done.stderr == (
        "Error: endpoints.yml:4: ROOMS_URL: the environment variable ROOMS_URL is not set. "
        "Set ROOMS_URL, in the environment or in a file .env of the project.\n"
    )


def _refused(
    python: list[str], folder: Path, arguments: list[str]
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*python, "-m", "rasa_react_ext.cli", "chat", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == ExitCode.CONFIGURATION
    return done


class Talk:
    """A conversation that does what its words say (stands in for `Session`)."""

    def __init__(self, screen: Screen | None = None, *, interrupted_at_start: bool = False) -> None:
        self.said: list[str] = []
        self.cancelled = asyncio.Event()
        self._screen = screen
        self._interrupted_at_start = interrupted_at_start

    async def begin(self) -> None:
        if self._interrupted_at_start:
            await _interrupted()

    async def say(self, text: str) -> None:
        self.said.append(text)
        if text.startswith("interrupt") and text != "interrupt after":
            signal.raise_signal(signal.SIGINT)
        if text in {"wait", "interrupt", "interrupt twice"}:
            await self.cancelled.wait()
        if text == "interrupt twice":
            await _interrupted()
        if text == "interrupt after":
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
        if text == "fail":
            raise RuntimeError("the disk is full")
        if self._screen is not None:
            self._screen.message(f"{text}?")

    def cancel(self) -> bool:
        self.cancelled.set()
        return True

    async def slots(self) -> dict[str, Any]:
        return {}


async def _interrupted() -> None:
    """Ctrl-C at something that takes long."""
    signal.raise_signal(signal.SIGINT)
    await asyncio.Event().wait()


async def test_the_first_ctrl_c_during_a_turn_stops_it_and_the_chat_goes_on() -> None:
    talk, shown = await _talk("interrupt", "again", None)
    assert talk.said == ["interrupt", "again"]
    assert shown.count("Stopping the turn …\n(stopped)\n") == 1


@pytest.mark.parametrize("message", ["interrupt twice", "interrupt after", "/help"])
@pytest.mark.parametrize("typed", [True, False])
def test_ctrl_c_ends_the_chat_at_the_prompt_at_the_start_and_while_a_turn_is_being_stopped(
    message: str, typed: bool
) -> None:
    talk = Talk(interrupted_at_start=message == "/help")
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(_talk(message, talk=talk, typed=typed))
    assert talk.cancelled.is_set() is (typed and message == "interrupt twice")


def test_ctrl_c_ends_a_file_of_messages_during_a_turn_too() -> None:
    talk = Talk()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(_talk("interrupt", "again", talk=talk, typed=False))
    assert talk.said == ["interrupt"]
    assert not talk.cancelled.is_set()


async def test_help_tells_of_ctrl_c_where_somebody_can_press_it() -> None:
    for typed in (True, False):
        _, shown = await _talk("/help", None, typed=typed)
        assert ("Ctrl-C" in shown) is typed


async def test_a_message_typed_during_a_turn_stands_at_its_prompt_and_the_answer_below() -> None:
    file = io.StringIO()
    screen = Screen(Console(file=file, width=80, force_terminal=True, color_system=None))
    talk = Talk(screen)
    await _talk("wait", "next", "/slots", "/cancel", None, talk=talk, screen=screen)
    assert "\nyou > next\nbot > next?\nyou > /slots\nNo slot is set.\n" in file.getvalue()


async def test_a_turn_that_the_host_gives_up_is_told_and_the_chat_goes_on() -> None:
    talk, shown = await _talk("fail", "again", None)
    assert talk.said == ["fail", "again"]
    assert "The turn failed: the disk is full\n" in shown


async def test_cancel_stops_the_turn_that_runs_and_lines_typed_meanwhile_wait() -> None:
    talk, shown = await _talk("wait", "next", "/cancel", "/cancel", None)
    assert talk.said == ["wait", "next"]
    assert shown.count("Stopping the turn …\n") >= 1


async def test_cancel_without_a_turn_says_so() -> None:
    _, shown = await _talk("/cancel", None)
    assert shown.endswith("Nothing runs.\n")


async def test_cancel_in_a_file_of_messages_waits_behind_those_before_it() -> None:
    talk, shown = await _talk("hello", "again", "/cancel", None, typed=False)
    assert talk.said == ["hello", "again"]
    assert not talk.cancelled.is_set()
    assert shown.endswith("Nothing runs.\n")


async def _talk(
    *messages: str | None,
    typed: bool = True,
    talk: Any = None,
    screen: Screen | None = None,
) -> tuple[Talk, str]:
    file = io.StringIO()
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    for line in messages:
        lines.put_nowait(line)
    talk = talk or Talk()
    async with asyncio.timeout(5):
        await converse(talk, screen or Screen(Console(file=file, width=80)), lines, typed=typed)
    return talk, file.getvalue()


@contextlib.contextmanager
def _environment(**wanted: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in wanted.items():
            patch.setenv(name, value)
        yield


def _chat(chat: list[str], typed: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*chat, *arguments],
        cwd=ROOT,
        env=dict(os.environ),
        input=typed,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
