"""The plugin as a project uses it: the page's own tests, in a pytest of their own."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rasa_react_ext.testing import Cassette, ScriptedModel
from tests.testing.page import write_files, write_project

# Each starts the host in a process of its own, which takes a while on a busy machine.
pytestmark = [pytest.mark.host, pytest.mark.timeout(400)]

FAILING = """
def test_what_goes_wrong(rasa_assistant, rasa_model):
    rasa_model.use("tests/price.yml")
    rasa_assistant.say("What is the price of Nordwind?")
    rasa_assistant.say("And of Aurora?")
    assert rasa_assistant.slots["language"] == "de"
"""
RECORDED = """
def test_the_price_is_told(rasa_assistant, rasa_model):
    turn = rasa_assistant.say("What is the price of Nordwind?")
    assert turn.bot == ["Nordwind trades at 110.96 EUR. Another one?"]
    assert rasa_model.unmatched == []
"""
OTHER_MODEL = """
import pytest
from rasa_react_ext.testing import ScriptedModel

@pytest.fixture(scope="session")
def rasa_model_server():
    rule = {"answer": {"text": "The other model is asked."}}
    with ScriptedModel([rule]).serve() as server:
        yield server
"""
OTHER = """
def test_another_model(rasa_assistant, rasa_model):
    rasa_assistant.say("What is the price of Nordwind?")
    said = [exchange.answer for exchange in rasa_model.requests]
    assert said and all("The other model is asked." in str(answer) for answer in said)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_project(tmp_path)
    assert "tests/test_price.py" in write_files(tmp_path)
    return tmp_path


def _pytest(
    python: list[str], project: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    quiet = ("-p", "no:cacheprovider", "-p", "no:asyncio", "-q")
    return subprocess.run(
        [*python, "-m", "pytest", *quiet, *arguments],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(project), **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_the_page_test_passes_and_a_failing_one_shows_what_was_said(
    project: Path, forked: list[str]
) -> None:
    (project / "tests" / "test_fails.py").write_text(FAILING)
    done = _pytest(forked, project, "tests", "--ignore", "tests/recorded")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    captured = done.stdout.find("- Captured ")
    assert done.stdout.index("- conversation -") < (captured if captured > 0 else math.inf)
    shown = done.stdout.partition("- conversation -")[2]
    said = [
        "user   What is the price of Nordwind?",
        'tool   get_price(company="Nordwind")',
        "bot    Nordwind trades at 110.96 EUR. Another one?",
        "user   And of Aurora?",
        "model requests without an answer",
        "No rule of tests/price.yml matches this request. Last message: user 'And of Aurora?'",
        "Nearest rule:",
    ]
    for line in said:
        assert line in shown, f"{line!r} is not in its place: {done.stdout}"
        shown = shown.partition(line)[2]


@pytest.mark.slow
def test_a_recorded_conversation_is_replayed_without_the_provider(
    project: Path, forked: list[str]
) -> None:
    (project / "tests" / "recorded" / "test_price.py").write_text(RECORDED)
    cassette = project / "tests" / "recorded" / "cassette"
    with ScriptedModel(project / "tests" / "price.yml").serve() as provider:
        key = {"OPENAI_API_KEY": "the-real-key-1", "RECORD_FROM": provider.base_url}
        done = _pytest(forked, project, "tests/recorded", **key)
        assert done.returncode == 0, done.stdout + done.stderr
        asked = provider.request_count
        assert {exchange.headers["authorization"] for exchange in provider.requests} == {
            "Bearer the-real-key-1"
        }
    entries = Cassette(cassette).entries.values()
    chats = [entry for entry in entries if entry.request.path == "/chat/completions"]
    assert len(chats) == asked >= 3
    assert not any("the-real-key" in file.read_text() for file in cassette.iterdir())
    done = _pytest(forked, project, "tests/recorded")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_with_another_model_has_its_own_in_the_same_session(
    project: Path, forked: list[str]
) -> None:
    other = project / "tests" / "other"
    other.mkdir()
    (other / "conftest.py").write_text(OTHER_MODEL)
    (other / "test_other.py").write_text(OTHER)
    for order in (["tests/other", "tests/test_price.py"], ["tests/test_price.py", "tests/other"]):
        done = _pytest(forked, project, *order)
        assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_a_project_that_does_not_use_it_pays_next_to_nothing(tmp_path: Path) -> None:
    heavy = ["rasa_react_ext.testing", "rasa", "anyio", "starlette", "pydantic", "yaml"]
    (tmp_path / "test_own.py").write_text(
        "import sys\n"
        "import pytest\n"
        "@pytest.fixture\ndef assistant(): return 'mine'\n"
        "def test_own(assistant, pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.hasplugin('rasa_react_ext')\n"
        f"    assert [name for name in {heavy} if name in sys.modules] == []\n"
    )
    others = ("-p", "no:anyio", "-p", "no:hypothesispytest")
    done = _pytest([sys.executable], tmp_path, *others)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_that_is_no_project_is_named(tmp_path: Path, forked: list[str]) -> None:
    (tmp_path / "test_own.py").write_text("def test_own(rasa_assistant): ...\n")
    done = _pytest(forked, tmp_path)
    assert "config.yml: config: there is no such file." in done.stdout, done.stdout
