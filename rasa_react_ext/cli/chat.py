"""`rasa-react chat`: talk to a trained assistant in the terminal."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from rich.console import Console

from rasa_react_ext.cli.interrupt import ended_at_once
from rasa_react_ext.cli.quiet import host_kept_quiet, prints_kept_quiet
from rasa_react_ext.cli.screen import Screen
from rasa_react_ext.cli.talk import converse, typed_lines
from rasa_react_ext.compatibility import check_host
from rasa_react_ext.errors import ConfigurationError

if TYPE_CHECKING:
    from rasa_react_ext.host.terminal import Session

__all__ = ["command"]


@click.command("chat")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    default=Path("models"),
    show_default=True,
    help="Trained model, or the folder whose newest one is taken.",
)
@click.option(
    "--endpoints", type=click.Path(path_type=Path), default=Path("endpoints.yml"), show_default=True
)
@click.option(
    "--sub-agents", type=click.Path(path_type=Path), default=Path("sub_agents"), show_default=True
)
@click.option("--sender", default="terminal", show_default=True, help="Name of the conversation.")
def command(model: Path, endpoints: Path, sub_agents: Path, sender: str) -> None:
    """Talk to a trained assistant.

    Texts appear as they come, tools with a line each while they run, slots when they change.
    Uses the host's Python API; no server is started.
    """
    archive = _archive(model)
    _check_named("endpoints", endpoints, endpoints.is_file())
    _check_named("sub_agents", sub_agents, sub_agents.is_dir())
    check_host()
    screen = Screen(Console(file=sys.stdout, highlight=False))
    screen.note("Loading the assistant …")
    with host_kept_quiet():
        with prints_kept_quiet(), ended_at_once():
            from rasa_react_ext.host.terminal import loaded_session
        loading = loaded_session(
            archive=archive,
            endpoints=endpoints,
            sub_agents=sub_agents,
            view=screen,
            sender_id=sender,
        )
        asyncio.run(_chat(loading, screen))


async def _chat(loading: AbstractAsyncContextManager[Session], screen: Screen) -> None:
    async with contextlib.AsyncExitStack() as stack:
        with prints_kept_quiet():
            session = await stack.enter_async_context(loading)
        await converse(session, screen, typed_lines(), typed=sys.stdin.isatty())


def _archive(model: Path) -> Path:
    """The archive itself, or the newest of the folder."""
    if model.is_file():
        return model
    archives = sorted(model.glob("*.tar.gz"), key=lambda file: file.stat().st_mtime)
    if not archives:
        fix = (
            "Train the assistant: `rasa train`, or without a licence as the page on testing in "
            "the package's documentation shows."
        )
        raise _refusal(model, "model", "there is no trained model here.", fix)
    return archives[-1]


def _check_named(parameter: str, path: Path, is_there: bool) -> None:
    """A project may lack what is looked for in its usual place, but not what somebody names."""
    source = click.get_current_context().get_parameter_source(parameter)
    if not is_there and source is not ParameterSource.DEFAULT:
        option = parameter.replace("_", "-")
        raise _refusal(path, option, "it is not there.", f"Correct --{option}.")


def _refusal(path: Path, option: str, problem: str, fix: str) -> ConfigurationError:
    return ConfigurationError(file=str(path), key=option, problem=problem, fix=fix)
