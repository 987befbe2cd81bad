"""A project in which every command of the pages can be run.

The project of the page on moving, trained, with its MCP server, a scripted model and an
external agent beside it. Its store and its record hold what the pages name.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from mcp.server.fastmcp import FastMCP

from rasa_react_ext.store import Database, Inbox, RemoteTask, RemoteTasks, ServedPushes
from rasa_react_ext.store import secret_hash as hashed
from rasa_react_ext.store.inbox import MAX_ATTEMPTS
from rasa_react_ext.testing import ScriptedModel
from tests.a2a_client.remote import remote
from tests.a2a_client.steps import begun
from tests.cli.store import within
from tests.docs.command import Done, run_command
from tests.docs.page import Line, files_of
from tests.mcp_pool.mcp_server import serving
from tests.store.served import serve_a_task

__all__ = ["World"]

STORE = ".rasa/rasa_react_ext.db"
SENDER = "customer-4711"
TASK = "0d9f0c3b6f4e4a0f8d3f6f0a2b1c4d5e"
PLACEHOLDERS = {
    "postgresql://bot@db/rasa": STORE,
    "ID": TASK,
    "RECORD": "traces/customer.jsonl",
    "SCRIPT": "tests/florist.yml",
    "SENDER": SENDER,
}
"""What stands for something of the reader's own, and what it is here."""

TYPED = {"chat": "I would like some flowers\n/slots\n/trace\n/stop\n", "forget": "y\n"}
"""What a person says to a command."""

REPORTS, PUSHES = 7, 3
"""Numbers of the dead letters that the pages name: `inbox-7`, `outbox-3`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class World:
    """The project, and what runs beside it.

    Attributes:
        folder: The project; to be copied before something changes it.
        variables: What its files ask for.
        python: What stands in the place of `python`.
        done: What was run before, since pages show the same commands.
    """

    folder: Path
    variables: Mapping[str, str]
    python: Sequence[str]
    done: dict[object, Done] = field(default_factory=dict)

    @classmethod
    @contextlib.contextmanager
    def running(cls, folder: Path, python: Sequence[str]) -> Iterator[World]:
        """Have the project while the block runs."""
        files_of("move-from-the-host.md", folder)
        with (
            serving(_garden().streamable_http_app) as garden,
            ScriptedModel(folder / "tests" / "florist.yml").serve() as model,
            remote() as broker,
        ):
            _add_agent(folder, broker.card_url)
            variables = {
                "GARDEN_URL": garden.url,
                "OPENAI_API_KEY": "offline",
                "OPENAI_BASE_URL": model.base_url,
            }
            trained = run_command(python, ["train"], folder, variables)
            assert trained.code == 0, trained.shown
            world = cls(folder=folder, variables=variables, python=python)
            world.record()
            task_id = asyncio.run(begun(broker))
            within(folder / STORE, lambda database: _fill(database, task_id))
            yield world

    def record(self) -> None:
        """Talk as a person does, and keep what was recorded under the names of the pages."""
        with tempfile.TemporaryDirectory() as name:
            done = self.run(Line.read("", "rasa-react chat"), Path(name))
            assert "Shall it be those?" in done.shown, done.shown
            (self.folder / "traces").mkdir()
            for sender in ("customer", SENDER):
                target = self.folder / "traces" / f"{sender}.jsonl"
                shutil.copy(Path(name) / "traces" / "terminal.jsonl", target)

    def run(self, line: Line, folder: Path) -> Done:
        """Run a line of a page in a copy of the project, or tell how that went before."""
        known = (line.words, tuple(line.variables.items()))
        if known not in self.done:
            shutil.copytree(self.folder, folder, dirs_exist_ok=True)
            arguments = [PLACEHOLDERS.get(word, word) for word in line.words]
            if arguments[1] == "model" and "--" not in arguments:  # else it serves for ever
                arguments += ["--", "true"]
            self.done[known] = run_command(
                self.python,
                arguments,
                folder,
                {**self.variables, **line.variables},
                typed=TYPED.get(arguments[1], ""),
                terminal=arguments[1] == "forget",
            )
        return self.done[known]


def _garden() -> FastMCP:
    garden = FastMCP("garden", log_level="CRITICAL")

    @garden.tool()
    def in_bloom() -> list[str]:
        """Flowers of the season."""
        return ["tulips"]

    return garden


def _add_agent(folder: Path, card_url: str) -> None:
    agent = {
        "agent": {"name": "broker", "protocol": "A2A", "description": "Trades."},
        "configuration": {"agent_card": card_url},
    }
    (folder / "sub_agents" / "broker").mkdir()
    (folder / "sub_agents" / "broker" / "config.yml").write_text(yaml.safe_dump(agent))
    with (folder / "endpoints.yml").open("a", encoding="utf-8") as file:
        file.write("rasa_react_ext: {trace_folder: traces}\n")


async def _fill(database: Database, task_id: str) -> None:
    """The task that the pages cancel, and the dead letters that they replay."""
    tasks, inbox, pushes = RemoteTasks(database), Inbox(database), ServedPushes(database)
    common = {"conversation": SENDER, "agent": "broker", "secret_hash": hashed("s")}
    await tasks.add(RemoteTask(key=TASK, task_id=task_id, **common))
    await tasks.add(RemoteTask(key="reported", task_id="at-1", background=True, **common))
    for number in range(REPORTS):
        await inbox.accept("reported", "s", f"report {number}".encode())
    for report in await inbox.unread("reported"):
        for _ in range(MAX_ATTEMPTS):
            await inbox.failed("reported", report.seq, "no lock")
    for number in range(PUSHES):
        await serve_a_task(
            database, f"served-{number}", conversation=f"a2a:shop:{number}", subscribed=True
        )
    for push in await pushes.take(PUSHES, 30):
        await pushes.failed(push.push_id, "answered 500", retry_at=None)
