"""Every command of the pages is run, or proven in the way that its program allows.

A program that is not in `RUN` or `NAMED` fails: no page shows a command that nobody has looked at.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from rasa_react_ext.cli.main import COMMANDS
from tests.docs.command import run_command
from tests.docs.dockerfile import command_of
from tests.docs.page import PAGES, Block, Line, blocks, spoken_commands
from tests.docs.world import World
from tests.project.tree import ROOT, run

# The project is trained and talked to once, which takes a while on a busy machine.
pytestmark = [pytest.mark.host, pytest.mark.timeout(300)]

SHELL = [block for page in PAGES for block in blocks(page) if block.is_shell]
LINES = [line for block in SHELL if not block.is_script for line in block.lines]
SCRIPTS = [block for block in SHELL if block.is_script]
SPOKEN = [line for page in PAGES for line in spoken_commands(page)]

LICENSED = [line for line in LINES if line.words[0] == "rasa"]
LICENSED_SECONDS = 60
SERVERS = {"inspect", "run"}
"""Commands of the host that go on until they are told to stop."""

MOVE, TESTING = "move-from-the-host.md", "testing.md"
PLUGIN = "tests/test_pytest_plugin.py::"
ELSEWHERE = {
    "make demo": "tests/demo/test_commands.py::"
    "test_the_demo_plays_the_whole_conversation_and_leaves_nothing_behind",
    "make test": "tests/project/test_commands.py::test_make_test_runs_every_check",
    "make wheel": "tests/project/test_wheel.py::"
    "test_the_wheel_holds_the_whole_package_and_nothing_else",
    f"{MOVE}: pytest tests": "tests/docs/test_walk.py::"
    "test_the_project_that_moves_passes_its_test_offline",
    f"{TESTING}: pytest tests": f"{PLUGIN}"
    "test_the_page_test_passes_and_a_failing_one_shows_what_was_said",
    f"{TESTING}: pytest tests/recorded": f"{PLUGIN}"
    "test_a_recorded_conversation_is_replayed_without_the_provider",
    f"{TESTING}: rasa-react": "tests/testing/test_docs.py::test_every_command_of_the_page_runs",
    "export OTEL_EXPORTER_OTLP_ENDPOINT": "tests/host/observe/test_export.py::"
    "test_spans_and_metrics_go_to_the_collector_that_the_environment_names",
    "export TICKET_LOCK_LIFETIME": "tests/host/interruption/test_lock.py::"
    "test_d3_1_the_lock_is_not_outlived_by_two_agents_a_slow_tool_and_a_queue",
    "export RASA_REACT_EXT_ANY_HOST": "tests/test_compatibility.py::"
    "test_an_untested_host_is_refused_with_the_way_to_override",
}
"""Tests of other areas that run what a page shows."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, forked: list[str]) -> Iterator[World]:
    with World.running(tmp_path_factory.mktemp("world"), forked) as running:
        yield running


def _name(line: Line) -> str:
    return f"{line.page}: {line.text}"


@pytest.mark.parametrize("line", LINES, ids=_name)
def test_a_command_of_a_page_does_what_it_should(line: Line, world: World, tmp_path: Path) -> None:
    assert line.words[0] in RUN, "nobody has said how it is proven"
    RUN[line.words[0]](line, world, tmp_path)


@pytest.mark.parametrize("line", SPOKEN, ids=_name)
def test_a_command_that_is_spoken_of_exists_with_its_options(line: Line) -> None:
    assert line.words[0] in NAMED, "nobody has said how it is proven"
    NAMED[line.words[0]](line)


def test_the_hosts_own_parser_accepts_every_command_of_the_host(
    world: World, tmp_path: Path
) -> None:
    lines = [line for line in LINES + SPOKEN for line in _of_the_host(line)]
    assert len(lines) > 5
    parsed = run_command(world.python, ["parse", *dict.fromkeys(lines)], tmp_path, {})
    assert parsed.code == 0, parsed.shown


@pytest.mark.parametrize("line", LICENSED, ids=_name)
def test_a_command_of_the_host_works_where_there_is_a_licence(
    line: Line, world: World, tmp_path: Path
) -> None:
    if not os.environ.get("RASA_LICENSE"):
        pytest.skip("needs your own RASA_LICENSE")  # noqa: TID251 - CI has none either
    shutil.copytree(world.folder, tmp_path, dirs_exist_ok=True)
    with subprocess.Popen(
        [Path(sys.executable).with_name("rasa"), *line.words[1:]],
        cwd=tmp_path,
        env={**os.environ, **world.variables, **line.variables},
    ) as process:
        try:
            if line.words[1] not in SERVERS:
                assert process.wait(LICENSED_SECONDS) == 0
            else:
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(LICENSED_SECONDS)
        finally:
            process.terminate()


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: f"{block.page}:{block.line}")
def test_a_script_of_a_page_runs_in_a_clone(
    block: Block, tmp_path: Path, free_port: Callable[[], int]
) -> None:
    for name in ("config.yml", "credentials.yml", "domain.yml", "endpoints.yml", ".env.example"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("actions", "data", "demo", "flows", "sub_agents"):
        shutil.copytree(ROOT / name, tmp_path / name)
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    text = block.text
    example = tmp_path / ".env.example"
    for port in re.findall(r"--port (\d+)", text):  # others of this machine may have these
        free = str(free_port())
        text = text.replace(f"--port {port}", f"--port {free}")
        example.write_text(example.read_text().replace(f":{port}/", f":{free}/"))
    done, shown = _bash(text, tmp_path)
    assert done == 0, shown
    assert "Nothing is wrong." in shown


def _bash(script: str, folder: Path) -> tuple[int, str]:
    """Exit code and output of a script; nothing that it starts outlives it."""
    with subprocess.Popen(
        ["bash", "-ec", script],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            code = process.wait(100)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        shown, _ = process.communicate()
    return code, shown


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_a_test_that_proves_a_command_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def _elsewhere(line: Line, world: World | None = None, folder: Path | None = None) -> None:
    """Another test runs it."""
    del world, folder
    known = (f"{line.page}: {' '.join(line.words)}", f"{line.page}: {line.words[0]}")
    assert any(name in ELSEWHERE for name in known), line.text


def _rasa_react(line: Line, world: World, folder: Path) -> None:
    if line.page == TESTING:
        _elsewhere(line)
        return
    done = world.run(line, folder)
    assert done.code == 0, done.shown
    assert "The turn failed" not in done.shown


def _export(line: Line, world: World, folder: Path) -> None:
    """A shell takes it; what it is good for is proven where it is read."""
    del world
    name, _, value = line.words[1].partition("=")
    shown = run("sh", "-ec", f'{line.text}\necho "${name}"', cwd=folder).stdout
    assert shown == f"{value}\n"
    assert f"export {name}" in ELSEWHERE


def _make(line: Line, world: World, folder: Path) -> None:
    del world, folder
    _make_target(line)
    assert " ".join(line.words) in ELSEWHERE


def _docker(line: Line, world: World, folder: Path) -> None:
    """The image cannot be built here; what runs in it can."""
    inside = command_of(line)
    if inside is not None and inside.words[0] == "rasa-react":
        _rasa_react(inside, world, folder)


def _accepted_by_the_host(line: Line, world: World, folder: Path) -> None:
    """See `test_the_hosts_own_parser_accepts_every_command_of_the_host`."""
    del world, folder
    assert _of_the_host(line)


RUN: dict[str, Callable[[Line, World, Path], None]] = {
    "docker": _docker,
    "export": _export,
    "make": _make,
    "pytest": _elsewhere,
    "rasa": _accepted_by_the_host,
    "rasa-react": _rasa_react,
}


def _make_target(line: Line) -> None:
    _, target, *variables = line.words
    assert all(re.fullmatch(r"[A-Z_]+=\S+", variable) for variable in variables)
    assert run("make", "--dry-run", target, *variables).returncode == 0


def _rasa_react_options(line: Line) -> None:
    """It may leave out what it needs, but names nothing that is not there."""
    _, *words = line.words
    command: click.Command | None = None
    while words and (command is None or isinstance(command, click.Group)):
        name = words.pop(0)
        if command is None and name in {"--help", "--version"}:
            return
        if command is None:
            assert name in COMMANDS, line.text
            command = importlib.import_module(f"rasa_react_ext.cli.{name}").command
        elif isinstance(command, click.Group):
            assert name in command.commands, line.text
            command = command.commands[name]
    known = {name for part in command.params for name in part.opts} if command else set[str]()
    assert {word for word in words if word.startswith("-")} <= known, line.text


def _module(line: Line) -> None:
    """`python -m`: the module is there and knows the options."""
    _, flag, name, *words = line.words
    assert flag == "-m"
    assert importlib.util.find_spec(name) is not None, line.text
    if name.partition(".")[0] in {"benchmarks", "demo", "rasa_react_ext"}:
        place = ROOT / name.replace(".", "/")
        files = [*place.glob("*.py"), *place.parent.glob(f"{place.name}.py")]
        text = "".join(file.read_text(encoding="utf-8") for file in files)
        assert all(f'"{word}"' in text for word in words if word.startswith("-")), line.text


def _pip(line: Line) -> None:
    assert line.words[1] == "install"
    assert Path(line.words[2]).name == "rasa-react-ext"


def _left_to_the_hosts_parser(line: Line) -> None:
    assert _of_the_host(line)


NAMED: dict[str, Callable[[Line], None]] = {
    ".venv/bin/python": _module,
    "make": _make_target,
    "pip": _pip,
    "python": _module,
    "rasa": _left_to_the_hosts_parser,
    "rasa-react": _rasa_react_options,
}


def _of_the_host(line: Line) -> list[str]:
    """The commands of the host in a line, as its parser shall read them."""
    words = line.words
    if words[0] == "docker":
        inside = command_of(line)
        words = inside.words if inside is not None else ()
    elif words[0] == "rasa-react" and "--" in words:
        words = words[words.index("--") + 1 :]
    return [shlex.join(words)] if words and words[0] == "rasa" else []
