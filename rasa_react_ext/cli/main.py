"""The entry point: finds the command, runs it, turns its failure into a message and a code.

Knows the commands by name only, so that starting is quick.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, TextIO

import click

from rasa_react_ext.cli.failure import ExitCode, failure_of
from rasa_react_ext.compatibility import installed_versions

__all__ = ["COMMANDS", "main"]

COMMANDS = ("chat", "check", "forget", "model", "tasks", "trace")
"""Each is a module of this package that holds a click command called `command`."""

_DEBUG = "--debug"


class _Commands(click.Group):
    """Imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"rasa_react_ext.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        with _reader_watched():
            return super().make_context(*given, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _reader_watched():
            return super().invoke(ctx)


class _ReaderLeftError(Exception):
    """Nobody reads what a command prints."""


@contextlib.contextmanager
def _reader_watched() -> Generator[None]:
    """Before the libraries that print make exit code 1 of it, which is another thing's."""
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderLeftError from error
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            raise _ReaderLeftError from leaving
        raise


def _show_versions(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        for name, version in installed_versions().items():
            click.echo(f"{name:16}{version or 'not installed'}")
        ctx.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_versions,
    help="Show the versions of this package, the host and the protocol packages.",
)
@click.option(_DEBUG, is_flag=True, expose_value=False, help="Show the traceback of a failure.")
def _rasa_react() -> None:
    """Tools for sub agents in Rasa conversations."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `rasa-react`.

    Args:
        arguments: Command line without the program's name; by default the process's own.

    Returns:
        The exit code; `rasa_react_ext.cli.failure.ExitCode` lists them.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:  # closed by the caller; what is opened next must not take its place
        sys.stdout = _without_reader()
    try:
        code = _run(given)
        sys.stdout.flush()
    except (BrokenPipeError, _ReaderLeftError):
        _drop_the_rest()
        return ExitCode.PIPE
    return code


def _without_reader() -> TextIO:
    """A standard output that nobody reads, in the place of one that was closed."""
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    for end in {reader, writer} - {1}:
        os.close(end)
    return open(1, "w", encoding="utf-8", closefd=False)


def _drop_the_rest() -> None:
    """What is left in a buffer must not fail once more while the interpreter ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _run(given: list[str]) -> int:
    """The exit code of a command; its failure is printed."""
    debug, given = _take_debug(given)
    try:
        with _folder_importable():
            code = _rasa_react.main(given, prog_name="rasa-react", standalone_mode=False, obj=debug)
    except click.exceptions.NoArgsIsHelpError as asked:
        click.echo(asked.format_message(), err=True)
        return asked.exit_code
    except _ReaderLeftError:
        raise
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the edge of the process
        failure = failure_of(error)
        if debug:
            traceback.print_exception(error)
        elif failure.text:
            click.secho("Error: ", fg="red", err=True, nl=False)
            click.echo(failure.text, err=True)
        return failure.code
    return code if isinstance(code, int) else 0


@contextlib.contextmanager
def _folder_importable() -> Generator[None]:
    """The project's modules are found in the folder of the call, as with the host's commands."""
    folder = str(Path.cwd())
    if folder in sys.path:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _take_debug(given: list[str]) -> tuple[bool, list[str]]:
    """`--debug` may stand anywhere before `--`; what follows that belongs to another program."""
    end = given.index("--") if "--" in given else len(given)
    ours = [argument for argument in given[:end] if argument != _DEBUG]
    return len(ours) < end, ours + given[end:]
