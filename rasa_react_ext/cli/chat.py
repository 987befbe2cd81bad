"""`rasa-react chat`: talk to a trained assistant in the terminal."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from rasa_react_ext.cli.quiet import host_kept_quiet
from rasa_react_ext.cli.screen import Screen
from rasa_react_ext.cli.talk import converse, typed_lines
from rasa_react_ext.compatibility import check_host

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
    check_host()
    with host_kept_quiet():
        asyncio.run(_chat(model, endpoints, sub_agents, sender))


async def _chat(model: Path, endpoints: Path, sub_agents: Path, sender: str) -> None:
    screen = Screen()
    screen.note("Loading the assistant …")
    from rasa_react_ext.host.terminal import loaded_session

    async with loaded_session(
        model=model, endpoints=endpoints, sub_agents=sub_agents, view=screen, sender_id=sender
    ) as session:
        await converse(session, screen, typed_lines(), typed=sys.stdin.isatty())
