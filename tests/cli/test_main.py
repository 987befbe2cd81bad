from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rasa_react_ext import __version__
from rasa_react_ext.cli.main import COMMANDS, main
from tests.cli.store import fill, within

HEAVY = ["rasa", "litellm", "openai", "mcp", "a2a", "starlette", "uvicorn", "httpx", "sqlalchemy"]


def test_the_version_names_host_and_protocol_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    shown = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert list(shown) == ["rasa-react-ext", "rasa-pro", "mcp", "a2a-sdk"]
    assert shown["rasa-react-ext"] == __version__


def test_starting_loads_nothing_heavy() -> None:
    code = (
        "import sys; from rasa_react_ext.cli.main import main; main(['--help'])\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stderr == "[]\n"
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


def test_the_console_script_runs_it() -> None:
    script = Path(sys.executable).with_name("rasa-react")
    for command in (
        [script, "--version"],
        [sys.executable, "-m", "rasa_react_ext.cli", "--version"],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        assert done.stdout.startswith("rasa-react-ext")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: rasa-react {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    assert f"| `rasa-react {name}" in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_lists_its_command_only(name: str) -> None:
    module = __import__(f"rasa_react_ext.cli.{name}", fromlist=["command"])
    assert module.__all__ == ["command"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["modl"], "No such command 'modl'"),
        (["model", "serve"], "Missing argument 'SCRIPT'. See: rasa-react model serve --help"),
        (["model", "serve", "x", "--port", "many"], "'many' is not a valid integer"),
        (["model", "record", "tape"], "Missing option '--upstream'"),
        (["--wrong"], "No such option"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("Error: ")
    assert said in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["model"]])
def test_without_a_command_the_help_is_shown(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--debug", "model", "serve", "no.yml"], ["model", "serve", "no.yml", "--debug"]]
)
def test_debug_shows_the_traceback_wherever_it_stands(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 3
    assert "Traceback" in capsys.readouterr().err
    assert main([argument for argument in arguments if argument != "--debug"]) == 3
    assert "Traceback" not in capsys.readouterr().err


def test_debug_after_two_dashes_belongs_to_the_other_program(tmp_path: Path) -> None:
    (tmp_path / "s.yml").write_text("rules: [answer: hi]")
    seen = tmp_path / "seen"
    code = f"import sys; open({str(seen)!r}, 'w').write(sys.argv[1])"
    command = [sys.executable, "-c", code, "--debug"]
    assert main(["model", "serve", str(tmp_path / "s.yml"), "--", *command]) == 0
    assert seen.read_text() == "--debug"


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [
        ("--version", True),
        ("tasks list --json", False),
        ("tasks list", True),
        ("tasks list", False),
        ("check --json --offline", False),
        ("check --offline", False),
    ],
)
def test_a_command_nobody_reads_leaves_with_141_and_says_nothing(
    tmp_path: Path, forked: list[str], arguments: str, closed: bool
) -> None:
    (tmp_path / "endpoints.yml").write_text("rasa_react_ext: {store: s.db}")
    within(tmp_path / "s.db", fill)
    python = forked if arguments.startswith("check") else [sys.executable]
    command = shlex.join([*python, "-m", "rasa_react_ext.cli", *arguments.split()])
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            ["sh", "-c", f"exec {command}{' >&-' if closed else ''}"],
            cwd=tmp_path,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
