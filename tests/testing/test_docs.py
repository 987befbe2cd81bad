"""The page on testing is true: its scripts load, its commands and snippets run, no key is missing.

Its tests with an assistant are run in `tests/test_pytest_plugin.py`.
"""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pydantic import BaseModel

from rasa_react_ext import pytest_plugin
from rasa_react_ext.cli.main import main
from rasa_react_ext.testing import (
    PROFILES,
    Exchange,
    ModelScript,
    ModelServer,
    ScriptedModel,
    ServedModel,
)
from rasa_react_ext.testing.reply import Player
from rasa_react_ext.testing.script import Answer, Call, Fault, Rule, Stream, When
from tests.testing.bodies import body, called, result, tool, user
from tests.testing.page import PAGE, commands, write_files

SCRIPTS = [
    block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "rules:" in block
]
SNIPPETS = [
    block
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    if not block.startswith("# tests/")
]
# Stands for the tests that a command of the page runs: one request that `tests/price.yml` answers.
ASK = """
import json, os, urllib.request
said = {"role": "user", "content": 'last message: \"\"\"What is the price?\"\"\"'}
asked = json.dumps({"model": "commands", "messages": [said]}).encode()
urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/chat/completions", asked, 10).read()
"""


@pytest.mark.parametrize("block", SCRIPTS, ids=range(len(SCRIPTS)))
def test_every_script_of_the_page_loads(block: str) -> None:
    script = ModelScript.from_rules(yaml.safe_load(block)["rules"])
    assert script.rules
    Player(script)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the scripts of the page, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "the-real-key-1")
    write_files(tmp_path)
    (tmp_path / "tests" / "model.yml").write_bytes((tmp_path / "tests/price.yml").read_bytes())
    (tmp_path / "price.yml").write_text(next(text for text in SCRIPTS if "# price.yml" in text))
    return tmp_path


def test_every_command_of_the_page_runs(project: Path) -> None:
    ours = [line for line in commands() if line.startswith("rasa-react ")]
    assert len(ours) >= 6
    with ScriptedModel(project / "tests" / "price.yml").serve() as provider:
        for line in ours:
            written = line.replace("https://api.openai.com/v1", provider.base_url)
            arguments = shlex.split(written.replace("--port 5100", ""))[1:]
            own, _, other = " ".join(arguments).partition(" -- ")
            asks = bool(other) or "price.yml" not in own
            run = [sys.executable, "-c", ASK if asks else ""]
            assert main([*own.split(" "), "--", *run]) == 0, line
    assert not any("the-real-key" in file.read_text() for file in project.glob("tests/*/*.yml"))


def test_the_only_other_commands_are_those_of_pytest_and_the_host() -> None:
    others = {line.split(" tests")[0] for line in commands() if not line.startswith("rasa-react ")}
    assert others == {"pytest", "RECORD_FROM=https://api.openai.com/v1 pytest"}


async def _talk(server: ServedModel) -> None:
    first = user("The price of ACME?")
    answered = [first, called(("a", "find_symbol")), result("a", '{"price": 3}')]
    async with httpx.AsyncClient(trust_env=False, base_url=server.base_url) as client:
        for messages in ([first], answered):
            asked = body(*messages, tools=[tool("find_symbol")])
            (await client.post("/chat/completions", json=asked)).raise_for_status()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=range(len(SNIPPETS)))
@pytest.mark.usefixtures("project")
async def test_every_snippet_of_the_page_runs(snippet: str) -> None:
    names: dict[str, Any] = {
        "ScriptedModel": ScriptedModel,
        "talk": _talk,
        "body": body(user("hello")),
    }
    code = snippet.replace("...  # talk", "await talk(server)  # talk")
    exec(compile(code, "docs/testing.md", "exec"), names)  # the page is our own
    for name, value in list(names.items()):
        if name.startswith("test_") and inspect.iscoroutinefunction(value):
            await value()


@pytest.mark.parametrize("model", [Answer, Call, Fault, Rule, Stream, When])
def test_every_key_of_a_script_is_on_the_page(model: type[BaseModel]) -> None:
    assert [key for key in model.model_fields if not re.search(rf"`{key}[`:]", PAGE)] == []


def test_everything_a_test_can_ask_is_on_the_page() -> None:
    names = {name for kind in (ServedModel, ModelServer) for name in vars(kind)}
    public = {name for name in names if not name.startswith("_")} | set(Exchange.__slots__)
    assert {name for name in public if not re.search(rf"`(await )?{name}[`(]", PAGE)} == set()


def test_every_fixture_is_on_the_page() -> None:
    fixtures = [name for name in pytest_plugin.__all__ if name.startswith("rasa_")]
    assert [name for name in fixtures if f"| `{name}` |" not in PAGE] == []


def test_every_profile_is_on_the_page() -> None:
    assert [name for name in PROFILES if f"| `{name}` |" not in PAGE] == []
