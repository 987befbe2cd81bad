"""`rasa-react forget`: deletes what this package stores about one conversation."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import click

from rasa_react_ext.cli.failure import ExitCode
from rasa_react_ext.cli.store import opened_store, store_option
from rasa_react_ext.errors import ConfigurationError

__all__ = ["command"]


@click.command("forget")
@click.argument("sender")
@store_option
@click.option(
    "--traces",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder of trace files. Default: `rasa_react_ext: trace_folder` of endpoints.yml.",
)
@click.option("--yes", is_flag=True, help="Do not ask; needed where nobody can be asked.")
def command(sender: str, store: str | None, traces: Path | None, yes: bool) -> int:
    """Delete the data of the conversation SENDER.

    From every table of the store and from the trace folder. What the host stores is not
    touched: delete the conversation from its tracker store, too.
    """
    if traces is not None and not traces.is_dir():
        raise ConfigurationError(
            file="command line",
            key="--traces",
            problem=f"there is no such folder {str(traces)!r}, so nothing was deleted.",
            fix="Name the folder that `rasa_react_ext: trace_folder` names.",
        )
    if traces is None and store is None:
        traces = _configured_traces()
    return asyncio.run(_forget(sender, store, traces, yes=yes))


async def _forget(sender: str, store: str | None, traces: Path | None, *, yes: bool) -> int:
    async with opened_store(store) as database:
        from rasa_react_ext.store import PersonalData

        data = PersonalData(database, sender)
        counts, files = await data.count(), _trace_files(traces, sender)
        _tell(counts, files)
        if not any(counts.values()) and not files:
            click.echo(f"Nothing is stored about {sender!r}.")
            return ExitCode.DONE
        if still_open := await data.open_tasks():
            click.echo(
                f"{still_open} of the tasks have not ended. Whoever works on them is not told; "
                "`rasa-react tasks cancel` does that first.",
                err=True,
            )
        _confirm(sender, yes=yes)
        rows = sum((await data.forget()).values())
        for file in files:
            file.unlink(missing_ok=True)
    click.echo(f"Deleted of {sender!r}: rows {rows}, files {len(files)}.")
    return ExitCode.DONE


def _configured_traces() -> Path | None:
    from rasa_react_ext.host.place import read_place

    return read_place(Path("endpoints.yml")).trace_folder


def _trace_files(folder: Path | None, sender: str) -> list[Path]:
    """The conversation's record, and the page drawn beside it."""
    if folder is None:
        return []
    from rasa_react_ext.host.observe.trace_path import earlier_trace_path, trace_path

    records = dict.fromkeys((trace_path(folder, sender), earlier_trace_path(folder, sender)))
    files = [file for record in records for file in (record, record.with_suffix(".html"))]
    return [file for file in files if file.is_file()]


def _tell(counts: dict[str, int], files: list[Path]) -> None:
    for name, count in counts.items():
        if count:
            click.echo(f"{count:6}  {name}")
    for file in files:
        click.echo(f"  file  {file}")


def _confirm(sender: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("Nobody can be asked here, so nothing was deleted: add --yes.")
    click.confirm(f"Delete all this of {sender!r} for good?", abort=True)
