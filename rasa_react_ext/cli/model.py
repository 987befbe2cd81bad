"""`rasa-react model`: a scripted, recording or replaying model on a loopback port.

Starts what `rasa_react_ext.testing` has; decides nothing about answers.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rasa_react_ext.cli.failure import ExitCode, RefusedError
from rasa_react_ext.errors import ConfigurationError

if TYPE_CHECKING:
    from rasa_react_ext.testing import Exchange, ServedModel
    from rasa_react_ext.testing.lifetime import Serving

__all__ = ["command"]

Function = Callable[..., Any]

_URL_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_PLACEHOLDER_KEY = "offline"
_LINE = 128


@click.group()
def command() -> None:
    """Serve, record or replay a model in the OpenAI format.

    Each prints the base URL and runs until it is interrupted. Given a command, it runs
    that instead, with OPENAI_BASE_URL pointing at the model, and leaves with its exit
    code; 1 where requests had no answer, 6 where answers could not be stored.
    """


def _served(function: Function) -> Function:
    """The parameters that all three have."""
    for decorate in (
        click.argument("run", nargs=-1, metavar="[-- COMMAND...]"),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=0,
            help="Loopback port; 0 takes a free one.",
        ),
        click.option(
            "--url-env",
            multiple=True,
            metavar="NAME",
            help="Further environment variable of COMMAND that gets the base URL.",
        ),
        click.option("--quiet", is_flag=True, help="Do not show every request."),
    ):
        function = decorate(function)
    return function


def _recorded(function: Function) -> Function:
    """The parameters of those that store answers."""
    for decorate in (
        click.option(
            "--api-key-env",
            metavar="NAME",
            help="Environment variable, or one of .env, with the key to send upstream; "
            "else the client's own.",
        ),
        click.option(
            "--secret-env",
            multiple=True,
            metavar="NAME",
            help="Environment variable, or one of .env, that must not get into the cassette.",
        ),
    ):
        function = decorate(function)
    return function


def _base_url(_: click.Context, __: click.Parameter, written: str | None) -> str | None:
    """The URL of an option; what is none is a mistake of the command line."""
    from rasa_react_ext.testing.upstream import base_url

    try:
        return None if written is None else base_url(written)
    except ConfigurationError as error:
        raise click.BadParameter(f"{error.problem} {error.fix}") from error


@command.command()
@click.argument("script", type=click.Path(path_type=Path))
@click.option("--profile", default="lenient", help="Refuse what this provider would refuse.")
@click.option(
    "--request-log",
    type=click.Path(path_type=Path),
    help="File that gets one JSON line per request.",
)
@_served
def serve(script: Path, profile: str, request_log: Path | None, quiet: bool, **served: Any) -> int:
    """Answer by the rules of SCRIPT, a YAML file."""
    from rasa_react_ext.testing import PROFILES, ScriptedModel

    if profile not in PROFILES:
        near = difflib.get_close_matches(profile, PROFILES, n=1)
        meant = f"Did you mean {near[0]!r}?" if near else f"Profiles: {', '.join(PROFILES)}."
        raise click.BadParameter(
            f"there is no profile {profile!r}. {meant}", param_hint="--profile"
        )
    model = ScriptedModel(
        script, profile=profile, request_log=request_log, on_answer=_reporter(quiet)
    )
    return _run(model, **served)


@command.command()
@click.argument("cassette", type=click.Path(path_type=Path))
@click.option(
    "--upstream",
    required=True,
    metavar="URL",
    callback=_base_url,
    help="Base URL of the provider.",
)
@click.option("--add", is_flag=True, help="Add to a cassette that holds something already.")
@_recorded
@_served
def record(
    cassette: Path,
    upstream: str,
    add: bool,
    api_key_env: str | None,
    secret_env: Sequence[str],
    quiet: bool,
    **served: Any,
) -> int:
    """Pass requests on to a provider and store the answers in CASSETTE, a folder."""
    from rasa_react_ext.host.dot_env import read_dot_env
    from rasa_react_ext.testing import RecordingModel

    read_dot_env()
    model = RecordingModel(
        cassette,
        upstream,
        add=add,
        api_key=_value(api_key_env),
        secrets=[_value(name) for name in secret_env],
        on_answer=_reporter(quiet),
    )
    return _run(model, **served)


@command.command()
@click.argument("cassette", type=click.Path(path_type=Path))
@click.option(
    "--update",
    metavar="URL",
    callback=_base_url,
    help="Ask this provider, and store, what is not recorded.",
)
@_recorded
@_served
def replay(
    cassette: Path,
    update: str | None,
    api_key_env: str | None,
    secret_env: Sequence[str],
    quiet: bool,
    **served: Any,
) -> int:
    """Answer from CASSETTE; say what differs where nothing fits."""
    from rasa_react_ext.host.dot_env import read_dot_env
    from rasa_react_ext.testing import ReplayModel

    read_dot_env()
    model = ReplayModel(
        cassette,
        update=update,
        api_key=_value(api_key_env),
        secrets=[_value(name) for name in secret_env],
        on_answer=_reporter(quiet),
    )
    return _run(model, **served)


def _run(model: Any, *, port: int, run: Sequence[str], url_env: Sequence[str]) -> int:
    from rasa_react_ext.testing.process import serve_until_signalled, serve_while

    serving: Serving[ServedModel] = model.serve(port)
    if run:
        _check_command(run[0])
    try:
        if not run:
            server = asyncio.run(serve_until_signalled(serving, _announce))
            return _code_of_losses(server)
        server, code = asyncio.run(
            serve_while(serving, run, lambda server: _environment(server.base_url, url_env))
        )
    except OSError as error:
        if str(error.filename).endswith(f":{port}"):
            raise RefusedError(
                error.filename, error, "Give another --port.", verb="used"
            ) from error
        if run and error.filename == run[0]:
            raise _not_started(run[0], error) from error
        raise RefusedError(error.filename, error, "Allow it, or name another.") from error
    missed = len(server.unmatched)
    if missed:
        click.echo(f"{missed} of {server.request_count} requests had no answer.", err=True)
    return code or _code_of_losses(server) or (ExitCode.FOUND if missed else ExitCode.DONE)


def _check_command(program: str) -> None:
    """Say as a shell does that a program is not there."""
    if shutil.which(program) is not None:
        return
    if Path(program).is_file():
        raise _NotExecutableError(f"{program!r} is no program that can be run. Make it executable.")
    raise _NoProgramError(f"there is no command {program!r}. Check its spelling and PATH.")


def _not_started(program: str, error: OSError) -> click.ClickException:
    """The same of a program that is there, but which the system cannot start."""
    if not isinstance(error, FileNotFoundError):
        said = f"{program!r} cannot be run: {error.strerror}."
        return _NotExecutableError(f"{said} Begin a script with #! and its interpreter.")
    with Path(shutil.which(program) or program).open("rb") as file:
        first = file.readline(_LINE).decode(errors="replace").rstrip("\n")
    needs = f"begins with {first!r}" if first.startswith("#!") else "needs a loader"
    return _NoProgramError(
        f"{program!r} {needs}, which is not there. Install it, or correct that line."
    )


class _NoProgramError(click.ClickException):
    """There is no such program."""

    exit_code = 127


class _NotExecutableError(click.ClickException):
    """The file is there but cannot be run."""

    exit_code = 126


def _code_of_losses(server: ServedModel) -> int:
    """Tell once that something could not be written."""
    losses = server.losses
    if not losses:
        return ExitCode.DONE
    refusal = RefusedError(losses[0].filename, losses[0], "Free the disk or allow it.")
    answers = "1 answer was" if len(losses) == 1 else f"{len(losses)} answers were"
    click.echo(f"{answers} given but not written down: {refusal}", err=True)
    return ExitCode.SYSTEM


def _announce(server: ServedModel) -> None:
    click.echo(server.base_url)
    sys.stdout.flush()


def _environment(base_url: str, more: Sequence[str]) -> dict[str, str]:
    named = dict.fromkeys((*_URL_VARIABLES, *more), base_url)
    return {"OPENAI_API_KEY": _PLACEHOLDER_KEY, **os.environ, **named}


def _value(variable: str | None) -> Any:
    """The value of a variable that is named; None where none is."""
    if variable is None:
        return None
    if not os.environ.get(variable):
        raise ConfigurationError(
            file="environment",
            key=variable,
            problem="the variable is not set.",
            fix="Set it, in the environment or in .env, or leave the option out.",
        )
    return os.environ[variable]


def _reporter(quiet: bool) -> Callable[[Exchange], None]:
    """Shows each request on standard error, and in full where it had no answer."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, highlight=False, soft_wrap=True)

    def report(exchange: Exchange) -> None:
        answered = exchange.rule is not None or exchange.status == HTTPStatus.OK
        failed = not answered and not exchange.client_left
        if quiet and not failed:
            return
        outcome = "the client left" if exchange.client_left else str(exchange.status or "dropped")
        line = f"{exchange.number:4}  {exchange.path}  {outcome}"
        said = exchange.rule or exchange.refused_by or _message(exchange.answer)
        console.print(Text(f"{line}  {said}", style="red" if failed else ""))

    return report


def _message(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    return str(error.get("message", "")) if isinstance(error, dict) else ""
