"""`rasa-react check`: what is wrong with a project, and what its agents would do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import click
from rich.console import Console

from rasa_react_ext.cli.failure import ExitCode
from rasa_react_ext.cli.interrupt import ended_at_once
from rasa_react_ext.cli.quiet import host_kept_quiet
from rasa_react_ext.cli.report import show
from rasa_react_ext.compatibility import check_host

__all__ = ["command"]


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
    paths = list(data) or ["flows" if Path("flows").is_dir() else "data"]
    with host_kept_quiet():
        with ended_at_once():
            from rasa_react_ext.host.inspection import inspect_project
        inspection = asyncio.run(inspect_project(domain=domain, data=paths, connect=not offline))
    if as_json:
        click.echo(json.dumps(inspection.to_json(), indent=2, ensure_ascii=False))
    else:
        show(Console(highlight=False), inspection, prompts=prompts)
    return ExitCode.FOUND if inspection.has_errors else ExitCode.DONE
