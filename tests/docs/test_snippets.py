"""Every snippet of the pages for tasks: accepted by those who read it, or run."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from rasa_react_ext.cli.main import COMMANDS
from tests.docs.page import Block, blocks
from tests.project.tree import ROOT

pytestmark = pytest.mark.host

PAGES = (
    "README.md",
    "a2a-server.md",
    "add-an-agent.md",
    "build-my-image.md",
    "command-line.md",
    "configuration.md",
    "external-agents.md",
    "hooks.md",
    "mcp-servers.md",
    "move-from-the-host.md",
    "personal-data.md",
    "roll-back.md",
    "run-many-workers.md",
    "security.md",
    "troubleshooting.md",
    "upgrade-the-host.md",
    "watch.md",
)
BLOCKS = [block for page in PAGES for block in blocks(page)]
POLICY = "rasa_react_ext.policy.ReActPolicy"
SHOWN = {"", "text"}
"""Kinds that show what a program prints or is told."""

FILES = {
    "policies": "config.yml",
    "rasa_react_ext": "endpoints.yml",
    "mcp_servers": "endpoints.yml",
    "rasa_react_ext.channels.A2AServer": "credentials.yml",
    "rasa_react_ext.channels.TaskUpdates": "credentials.yml",
    "session_config": "domain.yml",
    "slots": "domain.yml",
    "flows": "flows/some.yml",
    "agent": "sub_agents/some/config.yml",
    "configuration": "sub_agents/some/config.yml",
}
"""Where a top-level key belongs, for snippets that do not say."""


def _id(block: Block) -> str:
    return f"{block.page}:{block.line}"


def _of(kind: str) -> Any:
    found = [block for block in BLOCKS if block.kind == kind and not block.note]
    return pytest.mark.parametrize("block", found, ids=_id)


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every environment variable that a snippet asks for."""
    for block in BLOCKS:
        for name in re.findall(r"\$\{(\w+)\}", block.text):
            monkeypatch.setenv(name, "http://127.0.0.1:9/mcp")


def test_every_block_is_run_read_or_says_why_not() -> None:
    known = {"python", "sh", "yaml"} | SHOWN
    assert [_id(b) for b in BLOCKS if not b.note and b.kind not in known] == []
    assert [_id(b) for b in BLOCKS if b.note and not b.note.startswith("not run here: ")] == []


@_of("yaml")
def test_a_yaml_snippet_is_what_its_file_may_hold(block: Block, tmp_path: Path) -> None:
    values = _whole(yaml.safe_load(block.text))
    file = block.file or next((FILES[key] for key in values if key in FILES), "")
    assert file, "its first line must name the file"
    path = tmp_path / Path(file).name
    path.write_text(block.text, encoding="utf-8")
    reader = next(read for name, read in READERS.items() if re.fullmatch(name, file))
    with _as_the_host():
        reader(path, values)


@_of("python")
def test_a_python_snippet_is_code(block: Block) -> None:
    compile(block.text, _id(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@_of("sh")
def test_a_shell_snippet_uses_commands_and_options_that_exist(block: Block) -> None:
    for line in block.text.splitlines():
        program, *rest = shlex.split(line)
        PROGRAMS[program](rest)


def test_the_conversation_of_the_page_on_personal_data_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import asyncio

    from rasa_react_ext.store import Database, Journal, JournalEntry

    async def noted(*, write: bool) -> int:
        database = Database(".rasa/rasa_react_ext.db")
        try:
            if write:
                entry = JournalEntry(turn="t", call_key="k")
                await Journal(database).write("customer-4711", "desk", entry)
            return len(await Journal(database).entries("customer-4711", "desk"))
        finally:
            await database.aclose()

    monkeypatch.chdir(tmp_path)
    assert asyncio.run(noted(write=True)) == 1
    (snippet,) = (b for b in BLOCKS if b.page == "personal-data.md" and b.kind == "python")
    exec(compile(snippet.text, "personal-data.md", "exec"), {})
    assert asyncio.run(noted(write=False)) == 0


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert (ROOT / "docs" / target).is_file(), target


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


@contextlib.contextmanager
def _as_the_host() -> Iterator[None]:
    from tests.host.project import hosts_own_warnings

    with hosts_own_warnings():
        import rasa.core.agent  # noqa: F401 - the host's modules import each other

        yield


def _whole(values: Any) -> Any:
    """A part of the policies, or of our entry there, as the file that it is a part of."""
    flow_policy = {"name": "FlowPolicy"}
    if isinstance(values, list):
        return {"policies": [flow_policy, *values]}
    if set(values) == {"agents"}:
        return {"policies": [flow_policy, {"name": POLICY, **values}]}
    return values


def _config(_: Path, values: Any) -> None:
    from rasa_react_ext.host.settings import read_settings

    policies = {entry["name"]: entry for entry in values["policies"]}
    assert "FlowPolicy" in policies
    ours = {key: value for key, value in policies.get(POLICY, {}).items() if key != "name"}
    read_settings(ours, None)


def _endpoints(path: Path, values: Any) -> None:
    from rasa.core.config.available_endpoints import AvailableEndpoints

    from rasa_react_ext.host.settings import read_settings

    AvailableEndpoints.read_endpoints(path)
    read_settings({}, values.get("rasa_react_ext"))


def _sub_agent(_: Path, values: Any) -> None:
    from rasa.agents.validation import ALLOWED_KEYS
    from rasa.core.available_agents import AvailableAgents

    if "agent" in values:  # else only a part of the file is shown
        AvailableAgents.from_dict(values)
    for section, keys in values.items():
        assert set(keys) <= ALLOWED_KEYS[section]


def _credentials(_: Path, values: Any) -> None:
    from rasa_react_ext.a2a_server import read_settings
    from rasa_react_ext.a2a_server.settings import CHANNEL

    if CHANNEL in values:
        read_settings(values[CHANNEL] or {})


def _flows(path: Path, _: Any) -> None:
    from rasa.shared.core.flows.yaml_flows_io import YAMLFlowsReader

    assert YAMLFlowsReader.read_from_file(path).underlying_flows


def _domain(path: Path, _: Any) -> None:
    from rasa.shared.core.domain import Domain

    Domain.from_path(path)


def _model_script(path: Path, _: Any) -> None:
    from rasa_react_ext.testing import ModelScript

    assert ModelScript.from_file(path).rules


READERS: dict[str, Callable[[Path, Any], None]] = {
    r"config\.yml": _config,
    r"endpoints\.yml": _endpoints,
    r"credentials\.yml": _credentials,
    r"sub_agents/\w+/config\.yml": _sub_agent,
    r"flows/\w+\.yml": _flows,
    r"domain\.yml": _domain,
    r"tests/\w+\.yml": _model_script,
}


def _rasa_react(arguments: list[str]) -> None:
    if arguments == ["--version"]:
        return
    from importlib import import_module

    name, *rest = arguments
    assert name in COMMANDS
    command: click.Command = import_module(f"rasa_react_ext.cli.{name}").command
    command.make_context(name, rest)


def _pytest(arguments: list[str]) -> None:
    assert arguments == ["tests"]


def _export(arguments: list[str]) -> None:
    (assignment,) = arguments
    name = assignment.partition("=")[0]
    from rasa_react_ext.compatibility import OVERRIDE

    assert name in {"TICKET_LOCK_LIFETIME", "OTEL_EXPORTER_OTLP_ENDPOINT", OVERRIDE}


PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    "export": _export,
    "pytest": _pytest,
    "rasa-react": _rasa_react,
}
