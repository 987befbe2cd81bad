from __future__ import annotations

import os
import re
from pathlib import Path

import httpx
import pytest

from demo.backend import ROOT, SCRIPTS, Model, read_scripts, sample_project, scripted_model
from demo.chat import REAL_MODEL, REAL_URL, real_model
from demo.failure import DemoError
from rasa_react_ext.errors import ConfigurationError


def test_the_scripts_of_later_folders_come_last() -> None:
    rules = read_scripts(SCRIPTS, SCRIPTS / "chat").rules
    assert rules[-1].name == "nothing in the other scripts fits the task"
    assert len(rules) == len(read_scripts(SCRIPTS).rules) + 2


def test_a_folder_without_scripts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=f"no model script .* in {tmp_path}"):
        read_scripts(tmp_path)


def test_a_script_with_a_mistake_is_refused_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "wrong.yml").write_text("rules: [{whens: {}, answer: hi}]", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"wrong\.yml.*whens"):
        read_scripts(tmp_path)


def test_the_scripted_model_answers_the_command_generator() -> None:
    with scripted_model() as (model, server):
        asked = 'last message: """I would like to look into some shares."""'
        answer = httpx.post(
            f"{model.url}/chat/completions",
            json={"model": model.commands, "messages": [{"role": "user", "content": asked}]},
        ).json()
    assert answer["choices"][0]["message"]["content"] == "start flow explore_stocks"
    assert server.unmatched == []


def test_the_environment_of_the_project_holds_inside_the_block_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.delenv("WEALTH_DESK_MARKET_URL", raising=False)
    before = Path.cwd()
    model = Model(url="http://127.0.0.1:1/v1", api_key="other")
    with sample_project(
        tmp_path, market_url="http://127.0.0.1:2/mcp", reports_card="", model=model, port=3
    ) as project:
        assert project.folder == ROOT
        assert str(tmp_path / "store.db") in Path(project.endpoints).read_text(encoding="utf-8")
        assert os.environ["WEALTH_DESK_URL"] == "http://127.0.0.1:3"
        assert os.environ["OPENAI_API_KEY"] == "other"
        assert os.environ["WEALTH_DESK_MARKET_URL"] == "http://127.0.0.1:2/mcp"
        assert Path("endpoints.yml").is_file()
    assert os.environ["OPENAI_API_KEY"] == "mine"
    assert "WEALTH_DESK_MARKET_URL" not in os.environ
    assert Path.cwd() == before


def test_the_example_names_every_variable_that_the_project_asks_for() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    files = [ROOT / "endpoints.yml", *(ROOT / "sub_agents").glob("*/config.yml")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    asked = {name for text in texts for name in re.findall(r"\$\{(\w+)\}", text)}
    assert asked == set(re.findall(r"^(\w+)=", example, re.MULTILINE))


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_there_is_no_real_model(
    monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    assert real_model() is None


def test_a_key_alone_means_the_usual_server_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    for name in ("OPENAI_BASE_URL", "WEALTH_DESK_COMMANDS_MODEL", "WEALTH_DESK_AGENTS_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert real_model() == Model(
        url=REAL_URL, api_key="sk-1", commands=REAL_MODEL, agents=REAL_MODEL
    )


def test_server_and_models_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")
    monkeypatch.setenv("WEALTH_DESK_COMMANDS_MODEL", "small")
    monkeypatch.setenv("WEALTH_DESK_AGENTS_MODEL", "large")
    assert real_model() == Model(
        url="http://127.0.0.1:8000/v1", api_key="sk-1", commands="small", agents="large"
    )
