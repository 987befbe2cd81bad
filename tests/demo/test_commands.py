"""The two commands as a person runs them: as processes, with a pipe in the terminal's place."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.backend import ROOT, SCRIPTS
from tests.docs.page import missing

LIMIT_SECONDS = 150
pytestmark = [pytest.mark.host, pytest.mark.timeout(LIMIT_SECONDS + 20)]


@contextlib.contextmanager
def _running(
    python: list[str], command: str, tmp_path: Path, *options: str
) -> Iterator[subprocess.Popen[str]]:
    """A command in a process group of its own; it must leave nothing behind."""
    leftovers = tmp_path / "temporary"
    leftovers.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")
    }
    with subprocess.Popen(
        [*python, "-m", command, *options],
        cwd=ROOT,
        env={**environment, "TMPDIR": str(leftovers), "PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert list(leftovers.iterdir()) == []


def _run(python: list[str], command: str, tmp_path: Path, *options: str) -> tuple[int, str, str]:
    """Exit code, output and complaints of a command that ends by itself."""
    with _running(python, command, tmp_path, *options) as process:
        output, complaints = process.communicate(timeout=LIMIT_SECONDS)
    return process.returncode, output, complaints


def test_the_demo_plays_the_whole_conversation_and_leaves_nothing_behind(tmp_path: Path) -> None:
    code, output, complaints = _run([sys.executable], "demo.play", tmp_path)
    assert (code, complaints) == (0, ""), output + complaints
    for line in (
        "Training the assistant: ",
        "  you  How is Nordwind doing?",
        "       agent stock_explorer started",
        '       tool  fetch_live_price(symbol="NWND") (',
        "       flow opening_hours finished",
        "       agent stock_explorer resumed",
        "NWND stands at 69.2, AURB at 62.2",
        "       agent stock_explorer finished",
        "       slot  investment_amount = 25000.0",
        "       agent advisor_booking finished",
        "  bot  Booked for Thursday, by phone: retirement, about 25,000 EUR.",
        "       flow book_advisor finished",
        "       agent portfolio_report started",
        "  bot  The reporting house has found your 2 positions.",
        "  bot  Which period shall the report cover: the month or the half-year?",
        "  you  How far is it?",
        "  bot  Not yet. A moment ago I heard: Going through the closes of the half-year.",
        "       agent portfolio_report finished",
        "  bot  Your 2 positions are worth 2,962.50 EUR, 14.5 % more than a half-year ago.",
        "       agent risk_report interrupted",
        "       agent risk_report resumed",
        "  bot  Over the month your portfolio fell by at most 0.8 % from a high.",
        "everything went as it should",
    ):
        assert line in output, output
    assert missing("../README.md", output, "you  ") == [], output


def test_the_demo_names_a_missing_rule_of_the_script_in_one_line(
    tmp_path: Path, forked: list[str]
) -> None:
    scripts = tmp_path / "scripts"
    shutil.copytree(SCRIPTS, scripts)
    (scripts / "stock_explorer.yml").unlink()
    code, output, complaints = _run(forked, "demo.play", tmp_path, "--scripts", str(scripts))
    assert code == 1, output
    assert len(complaints.splitlines()) == 1, complaints
    assert "no rule for what wealth-desk-agents was asked" in complaints
    assert "into some shares" in complaints


def test_the_demo_fails_in_one_line_on_a_wrong_conversation(
    tmp_path: Path, forked: list[str]
) -> None:
    code, _, complaints = _run(
        forked, "demo.play", tmp_path, "--conversation", str(tmp_path / "none.yml")
    )
    assert code == 1
    assert len(complaints.splitlines()) == 1
    assert "none.yml cannot be read" in complaints


def test_the_chat_answers_what_it_is_told_and_shows_what_comes_by_itself(
    tmp_path: Path, forked: list[str]
) -> None:
    with _running(forked, "demo.chat", tmp_path) as chat:
        heard = _heard(chat, "Welcome")
        assert "OPENAI_API_KEY is not set, so a scripted model answers" in heard
        assert "  How is Nordwind doing?" in heard
        assert "/slots shows slots" in heard
        _heard(chat, "HLSC trades at", says="\n   \nHow is Helio doing?")
        _heard(chat, "No slot is set.", says="/slots")
        _heard(chat, "No record: set trace_folder", says="/trace")
        _heard(chat, "Nothing runs.", says="/cancel")
        _heard(chat, "Please note", says="Thanks.")
        # The external agent asks back and reports between two messages.
        heard = _heard(chat, "Which period", says="A portfolio report, please.")
        assert "you > A portfolio report, please." in heard
        _heard(chat, "Going through", says="The month.")
        assert "you > How far is it?" in _heard(chat, "Not yet.", says="How far is it?")
        _heard(chat, "Your 2 positions are worth")
        _heard(chat, "agent portfolio_report finished")
        rest, complaints = chat.communicate("What a day!\n", timeout=LIMIT_SECONDS)
    assert (chat.returncode, complaints) == (0, ""), rest + complaints
    assert rest.count("you > ") == 1


def test_messages_that_are_piped_at_once_have_their_own_answers_below_them(
    tmp_path: Path, forked: list[str]
) -> None:
    answers = {
        "A risk report, please.": "bot > I pass that on to our reporting house.",
        "When are you open?": "bot > The desk is open",
        "Stop the risk report, please.": "  agent risk_report cancelled",
        "How is Nordwind doing?": "bot > NWND trades at",
    }
    with _running(forked, "demo.chat", tmp_path) as chat:
        output, complaints = chat.communicate("\n".join(answers), timeout=LIMIT_SECONDS)
    assert (chat.returncode, complaints) == (0, ""), output + complaints
    turns = dict(turn.split("\n", 1) for turn in output.split("you > ")[1:])
    assert list(turns) == list(answers)
    for said, answer in answers.items():
        assert answer in turns[said], output


def _heard(chat: subprocess.Popen[str], words: str, *, says: str = "") -> str:
    """What the chat writes up to the line with these words, once something was said."""
    assert chat.stdin is not None
    assert chat.stdout is not None
    if says:
        chat.stdin.write(f"{says}\n")
        chat.stdin.flush()
    heard = ""
    while words not in heard:
        line = chat.stdout.readline()
        assert line, heard
        heard += line
    return heard
