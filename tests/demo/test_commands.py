"""The two commands as a person runs them: as processes, with a pipe in the terminal's place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from demo.backend import ROOT, SCRIPTS

LIMIT_SECONDS = 150
pytestmark = [pytest.mark.host, pytest.mark.timeout(LIMIT_SECONDS + 20)]


def _run(command: str, tmp_path: Path, *options: str, said: str = "") -> tuple[int, str, str]:
    """Run a command in a process group of its own and check that it leaves nothing behind."""
    leftovers = tmp_path / "temporary"
    leftovers.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")
    }
    with subprocess.Popen(
        [sys.executable, "-m", command, *options],
        cwd=ROOT,
        env={**environment, "TMPDIR": str(leftovers)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            output, complaints = process.communicate(said, timeout=LIMIT_SECONDS)
        finally:
            process.kill()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert list(leftovers.iterdir()) == []
    return process.returncode, output, complaints


def test_the_demo_plays_the_whole_conversation_and_leaves_nothing_behind(tmp_path: Path) -> None:
    code, output, complaints = _run("demo.play", tmp_path)
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
        "everything went as it should",
    ):
        assert line in output, output


def test_the_demo_names_a_missing_rule_of_the_script_in_one_line(tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    shutil.copytree(SCRIPTS, scripts)
    (scripts / "stock_explorer.yml").unlink()
    code, output, complaints = _run("demo.play", tmp_path, "--scripts", str(scripts))
    assert code == 1, output
    assert len(complaints.splitlines()) == 1, complaints
    assert "no rule for what wealth-desk-agents was asked" in complaints
    assert "into some shares" in complaints


def test_the_demo_fails_in_one_line_on_a_wrong_conversation(tmp_path: Path) -> None:
    code, _, complaints = _run("demo.play", tmp_path, "--conversation", str(tmp_path / "none.yml"))
    assert code == 1
    assert len(complaints.splitlines()) == 1
    assert "none.yml cannot be read" in complaints


def test_the_chat_answers_what_it_is_told_until_the_input_ends(tmp_path: Path) -> None:
    said = "I would like to look into some shares.\n\n   \nHow is Helio doing?\nWhat a day!\n"
    code, output, complaints = _run("demo.chat", tmp_path, said=said)
    assert (code, complaints) == (0, ""), output + complaints
    assert "OPENAI_API_KEY is not set, so a scripted model answers" in output
    assert "  How is Nordwind doing?" in output
    assert "  you  How is Helio doing?" in output
    assert "HLSC trades at" in output
    assert output.count("  you  ") == 3
