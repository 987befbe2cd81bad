"""`rasa-react check`: what is wrong with a project, and what its agents would do."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from rasa_react_ext.cli.failure import ExitCode
from rasa_react_ext.compatibility import check_host

if TYPE_CHECKING:
    from rasa_react_ext.host.inspection import AgentView, Inspection

__all__ = ["command"]

_COLOURS = {"error": "red", "warning": "yellow"}


@click.command("check")
@click.option("--domain", default="domain.yml", show_default=True, help="Domain file or folder.")
@click.option(
    "--data",
    multiple=True,
    help="File or folder with flows. Default: `flows` where there is such a folder, else `data`.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for CI.")
@click.option("--offline", is_flag=True, help="Do not connect to servers and agents.")
@click.option("--prompts", is_flag=True, help="Show each agent's whole prompt.")
def command(domain: str, data: tuple[str, ...], as_json: bool, offline: bool, prompts: bool) -> int:
    """Check the project in this folder.

    Reads the configuration, connects to every MCP server, lists the tools each agent is
    offered, and says what is wrong, where, and what to write instead. Needs no licence and
    no trained model. Exits with 1 when there are errors.
    """
    check_host()
    logging.disable(logging.CRITICAL)
    from rasa_react_ext.host.inspection import inspect_project

    paths = list(data) or ["flows" if Path("flows").is_dir() else "data"]
    inspection = asyncio.run(inspect_project(domain=domain, data=paths, connect=not offline))
    if as_json:
        click.echo(json.dumps(inspection.to_json(), indent=2, ensure_ascii=False))
    else:
        _show(inspection, prompts=prompts)
    return ExitCode.FOUND if inspection.has_errors else ExitCode.DONE


def _show(inspection: Inspection, *, prompts: bool) -> None:
    console = Console(highlight=False)
    for agent in inspection.agents:
        _show_agent(console, agent, prompts=prompts)
    if not inspection.findings:
        console.print("[green]Nothing is wrong.[/green]")
        return
    table = Table(show_edge=False, pad_edge=False, expand=True)
    for heading, ratio in (("", 1), ("where", 4), ("what, and what to do", 8)):
        table.add_column(heading, ratio=ratio, overflow="fold")
    for finding in inspection.findings:
        line = f":{finding.line}" if finding.line else ""
        place = f"{finding.file}{line}" + (f"\n{finding.key}" if finding.key else "")
        colour = _COLOURS[finding.level]
        table.add_row(f"[{colour}]{finding.level}[/{colour}]", _plain(place), _plain(finding.text))
    console.print(table)


def _show_agent(console: Console, agent: AgentView, *, prompts: bool) -> None:
    console.print(f"[bold]{_plain(agent.name)}[/bold] ({agent.kind})")
    facts = {
        "called by": ", ".join(agent.flows) or "no flow",
        "reaches": ", ".join(agent.servers) or "no server",
        "model": agent.model,
        "tools": ", ".join(agent.tools),
        "fills": ", ".join(agent.slots),
        "prompt": f"about {agent.prompt_tokens} tokens with its tools (an estimate)"
        if agent.prompt_tokens is not None
        else "",
    }
    for name, value in facts.items():
        if value:
            console.print(f"  {name:10}{_plain(value)}")
    if prompts and agent.prompt:
        console.print(_plain(agent.prompt), style="dim")
    console.print()


def _plain(text: str) -> str:
    """Text that is shown as it is, whatever brackets it holds."""
    return text.replace("[", "\\[")
