"""`rasa-react tasks`: what is open between this assistant and other agents."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

import click
from rich.console import Console

from rasa_react_ext.cli.failure import ExitCode
from rasa_react_ext.cli.quiet import host_kept_quiet, lines_kept_quiet
from rasa_react_ext.cli.store import opened_store, store_option
from rasa_react_ext.cli.task_table import OpenWork, show_work
from rasa_react_ext.compatibility import check_host
from rasa_react_ext.errors import ExtensionError

if TYPE_CHECKING:
    from rasa_react_ext.store import Database, RemoteTask

__all__ = ["command"]

LIMIT = 500
LOOK_SECONDS = 0.2


@click.group()
def command() -> None:
    """List, cancel and replay what goes on with other agents.

    Reads the store of the project in this folder, or the one that --store names; no server
    has to run.
    """


@command.command("list")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--limit", type=click.IntRange(1), default=LIMIT, show_default=True, help="Rows of each kind."
)
def show(store: str | None, as_json: bool, limit: int) -> None:
    """Show open tasks and dead letters.

    Tasks at external agents, tasks that are served to callers over A2A, and what was given
    up on: reports that could not be applied, pushes that could not be delivered.
    """
    work = asyncio.run(_read(store, limit))
    if as_json:
        click.echo(json.dumps(work.to_json(), indent=2, ensure_ascii=False))
    else:
        show_work(Console(highlight=False), work)


@command.command()
@click.argument("task", metavar="ID")
@store_option
@click.option(
    "--force",
    is_flag=True,
    help="End a remote task even if its agent cannot be told or its end cannot be applied.",
)
@click.option(
    "--wait",
    "wait_seconds",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Seconds in which a running server must have ended the task.",
)
def cancel(task: str, store: str | None, force: bool, wait_seconds: float) -> int:
    """Cancel the open task ID, at its agent or in the running server.

    A task at an external agent is cancelled there, by the agent's definition in the project
    in this folder. Exits with 1 when no running server has ended the task in time.
    """
    check_host()
    with host_kept_quiet(), lines_kept_quiet():
        return asyncio.run(_cancel(task, store, force=force, wait_seconds=wait_seconds))


@command.command()
@click.argument("letters", nargs=-1, metavar="[ID]...")
@click.option("--all", "every", is_flag=True, help="All dead letters.")
@store_option
def replay(letters: tuple[str, ...], every: bool, store: str | None) -> None:
    """Put dead letters back into their queue, by ID or --all.

    A running server takes them from there at once.
    """
    if letters and every:
        raise click.UsageError("Give only one: the ids of dead letters, or --all.")
    if not letters and not every:
        raise click.UsageError("Name dead letters, or write --all.")
    asyncio.run(_replay(store, None if every else letters))


async def _read(store: str | None, limit: int) -> OpenWork:
    async with opened_store(store) as database:
        from rasa_react_ext.store import DeadLetters, RemoteTasks, ServedTasks

        # One more than is shown tells whether there is more.
        remote = await RemoteTasks(database).open(limit + 1)
        served = await ServedTasks(database).open(limit + 1)
        letters = await DeadLetters(database).list(limit + 1)
    reports = [letter for letter in letters if letter.id.startswith("inbox")]
    pushes = letters[len(reports) :]
    return OpenWork(
        remote=remote[:limit],
        served=served[:limit],
        letters=[*reports[:limit], *pushes[:limit]],
        more=max(map(len, (remote, served, reports, pushes))) > limit,
    )


async def _cancel(task: str, store: str | None, *, force: bool, wait_seconds: float) -> int:
    async with opened_store(store) as database:
        from rasa_react_ext.store import RemoteTasks, ServedTasks

        remote = await RemoteTasks(database).find(task)
        served = await ServedTasks(database).get(task)
        if not remote and served is None:
            raise ExtensionError(f"There is no task {task!r}. `rasa-react tasks list` shows ids.")
        open_remote = [row for row in remote if not row.closed]
        ended = [
            await _cancel_remote(database, row, force=force, wait_seconds=wait_seconds)
            for row in open_remote
        ]
        if served is not None and not served.ended:
            return await _cancel_served(database, task, wait_seconds)
    if not open_remote:
        raise ExtensionError(f"Task {task!r} has ended already.")
    return ExitCode.DONE if all(ended) else ExitCode.FOUND


async def _cancel_remote(
    database: Database, row: RemoteTask, *, force: bool, wait_seconds: float
) -> bool:
    """Cancel a task of an external agent; whether it is closed now."""
    from rasa_react_ext.host.external.operate import cancel_at_agent, end_remote_task
    from rasa_react_ext.store import RemoteTasks

    try:
        if row.task_id:
            await cancel_at_agent(row.agent, row.task_id)
    except ExtensionError as error:
        if not force:
            raise
        click.echo(f"{error} It is ended here all the same.", err=True)
    await end_remote_task(database, row)
    closed = await _is_closed(database, row, wait_seconds)
    if not closed and force:
        await RemoteTasks(database).expire(row.key)
        closed = await _is_closed(database, row, wait_seconds)
    if closed:
        click.echo(f"Cancelled task {row.key} of agent {row.agent}.")
    else:
        click.echo(
            f"Task {row.key} of agent {row.agent} is still open: no server has ended it within "
            f"{wait_seconds:g} s. The next one that runs on this store will"
            f"{'' if force else ', or do not wait for its report: --force'}.",
            err=True,
        )
    return closed


async def _is_closed(database: Database, row: RemoteTask, seconds: float) -> bool:
    """Whether a task is closed, or is within some seconds."""
    from rasa_react_ext.store import RemoteTasks

    tasks, until = RemoteTasks(database), time.monotonic() + seconds
    while (now := await tasks.get(row.key)) is not None and not now.closed:
        if time.monotonic() >= until:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True


async def _cancel_served(database: Database, task: str, wait_seconds: float) -> int:
    from rasa_react_ext.store import ServedTasks

    tasks = ServedTasks(database)
    await tasks.request_cancel(task)
    try:
        async with asyncio.timeout(wait_seconds):
            # What another process does has no event to wait for.
            while (served := await tasks.get(task)) is not None and not served.ended:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        click.echo(
            f"Asked to cancel task {task}, but no server has done so within {wait_seconds:g} s. "
            "The next one that runs on this store will.",
            err=True,
        )
        return ExitCode.FOUND
    state = "gone" if served is None else served.state
    click.echo(f"Served task {task} is {state}.")
    return ExitCode.DONE


async def _replay(store: str | None, ids: tuple[str, ...] | None) -> None:
    async with opened_store(store) as database:
        from rasa_react_ext.store import DeadLetters

        done = await DeadLetters(database).replay(ids)
    if done.unknown:
        raise ExtensionError(
            f"There is no dead letter {done.unknown[0]!r}, so nothing was changed. "
            "`rasa-react tasks list` shows ids."
        )
    count = len(done.queued)
    click.echo(f"{count} dead letter{'' if count == 1 else 's'} put back into the queue.")
    for name in done.closed:
        click.echo(f"{name} was left: its task takes no report any more.", err=True)
