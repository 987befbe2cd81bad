"""Every snippet of the pages: read by the code that reads such files, or executed.

Commands are run by `test_commands.py`, the Dockerfile is looked at by `test_dockerfile.py`.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rasa_react_ext.store import Database, Journal, JournalEntry
from tests.docs.page import PAGES, Block, blocks

pytestmark = pytest.mark.host

BLOCKS = [block for page in PAGES for block in blocks(page)]
POLICY = "rasa_react_ext.policy.ReActPolicy"
KINDS = {"dockerfile", "python", "sh", "yaml"}
SHOWN = {"", "text"}
"""Kinds that show what a program prints or is told."""

FILES = {
    "policies": "config.yml",
    "rasa_react_ext": "endpoints.yml",
    "mcp_servers": "endpoints.yml",
    "model_groups": "endpoints.yml",
    "tracker_store": "endpoints.yml",
    "rasa_react_ext.channels.A2AServer": "credentials.yml",
    "rasa_react_ext.channels.TaskUpdates": "credentials.yml",
    "session_config": "domain.yml",
    "slots": "domain.yml",
    "flows": "flows/some.yml",
    "rules": "tests/some.yml",
    "agent": "sub_agents/some/config.yml",
    "configuration": "sub_agents/some/config.yml",
}
"""Where a top-level key belongs, for snippets that do not say."""

FOLLOWED = {"add-an-agent.md", "move-from-the-host.md", "testing.md"}
"""Pages whose Python is run where their projects are: `test_walk.py`, `tests/testing`."""

GIVEN = {"long-running-agents.md": {"sender_id": "customer-4711"}}
"""What the Python of a page finds in its place."""


def _id(block: Block) -> str:
    return f"{block.page}:{block.line}"


def _of(kind: str, *, without: frozenset[str] | set[str] = frozenset()) -> Any:
    found = [block for block in BLOCKS if block.kind == kind and block.page not in without]
    return pytest.mark.parametrize("block", found, ids=_id)


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every environment variable that a snippet asks for."""
    for block in BLOCKS:
        for name in re.findall(r"\$\{(\w+)\}", block.text):
            monkeypatch.setenv(name, "http://127.0.0.1:9/mcp")


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    assert [_id(block) for block in BLOCKS if block.kind not in KINDS | SHOWN] == []


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


@_of("python", without=FOLLOWED)
def test_a_python_snippet_runs(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with _as_the_host():
        _executed(block)


def test_the_conversation_of_the_page_on_personal_data_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    _executed(snippet)
    assert asyncio.run(noted(write=False)) == 0


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

    from rasa_react_ext.host.external.spec import agent_spec
    from rasa_react_ext.host.settings import read_settings

    for section, keys in values.items():
        assert set(keys) <= ALLOWED_KEYS[section]
    external = "agent_card" in values.get("configuration", {})
    agent = {"name": "some", "protocol": "A2A" if external else "RASA", "description": "Serves."}
    config = AvailableAgents.from_dict({"agent": agent, **values})
    if external:
        agent_spec(config, read_settings({}, None).for_agent("some"))


def _credentials(path: Path, values: Any) -> None:
    from rasa.core.config.configuration import Configuration

    from rasa_react_ext.channels import A2AServer, TaskUpdates

    endpoints = path.with_name("endpoints.yml")
    endpoints.write_text("{}", encoding="utf-8")
    Configuration.initialise_endpoints(endpoints)  # read before the channels, as a server does
    for channel in (A2AServer, TaskUpdates):
        place = f"rasa_react_ext.channels.{channel.__name__}"
        if place in values:
            channel.from_credentials(values.pop(place))
    assert values == {}


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
    r"(tests/)?\w+\.yml": _model_script,
}


def _executed(block: Block) -> dict[str, Any]:
    """What a snippet leaves behind, once it has run."""
    names: dict[str, Any] = dict(GIVEN.get(block.page, {}))
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    done = eval(compile(block.text, _id(block), "exec", flags=flags), names)
    if inspect.iscoroutine(done):
        asyncio.run(done)
    return names
