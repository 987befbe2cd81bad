"""Train, load and talk, through the host."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from mcp.server.fastmcp import FastMCP
from rasa import validator
from rasa.core.channels import CollectingOutputChannel
from rasa.utils.log_utils import configure_structlog

from rasa_react_ext import compatibility
from rasa_react_ext.assistant import Project, loaded, train
from rasa_react_ext.errors import ConfigurationError, HostError
from rasa_react_ext.testing import ScriptedModel
from rasa_react_ext.testing.endpoints import offline_endpoints
from rasa_react_ext.testing.hosted import serve_application
from tests.testing.page import write_files, write_project

pytestmark = pytest.mark.host


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """The project of the page on testing, with its model and its MCP server running."""
    write_project(tmp_path)
    write_files(tmp_path)
    market = FastMCP("market", log_level="CRITICAL")

    @market.tool()
    def get_price(company: str) -> dict[str, object]:
        """The price of a share in EUR."""
        return {"company": company, "price": 110.96}

    monkeypatch.setenv("OPENAI_API_KEY", "offline")
    monkeypatch.setenv("RASA_CACHE_DIRECTORY", str(tmp_path / "cache"))
    with (
        ScriptedModel(tmp_path / "tests" / "price.yml").serve() as model,
        serve_application(market) as url,
    ):
        monkeypatch.setenv("OPENAI_API_BASE", model.base_url)
        endpoints = tmp_path / "endpoints.yml"
        endpoints.write_text(
            offline_endpoints(
                endpoints.read_text(), model_url=model.base_url, servers={"market": url}
            )
        )
        yield Project(folder=tmp_path)


async def test_a_project_is_trained_loaded_and_talked_to(project: Project, tmp_path: Path) -> None:
    here = Path.cwd()
    archive = await train(project, tmp_path / "models")
    async with loaded(project, archive) as assistant:
        ann, ben = assistant.conversation("ann"), assistant.conversation("ben")
        assert await ben.slots() == {}
        events = await ann.say("What is the price of Nordwind?")
        said = [event["text"] for event in events if event["event"] == "bot"]
        assert said == ["Nordwind trades at 110.96 EUR. Another one?"]
        more = await ann.say("no thanks")
        assert [event["text"] for event in more if event["event"] == "user"] == ["no thanks"]
        assert (await ann.slots())["language"] == "en"
        known = await assistant.conversation("ann").say("no thanks")
        assert len(known) > len(more), "a conversation by this name was there before"
        restarted = await ann.say("/restart")
        assert "session_started" in [event["event"] for event in restarted]
        assert await ann.news() == []
        assert assistant.take_errors() == []
        told = await assistant.conversation("cleo", CollectingOutputChannel()).say("no thanks")
        assert [e["input_channel"] for e in told if e["event"] == "user"] == ["collector"]
    newer = await train(project, tmp_path / "models")
    assert {newer, archive} == set((tmp_path / "models").iterdir()), "the first one is kept"
    assert Path.cwd() == here
    assert str(tmp_path) not in sys.path


async def test_a_project_that_the_host_refuses_is_one_line(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "domain.yml").write_text("slots: [broken")
    with pytest.raises(HostError, match="cannot be trained") as refusal:
        await train(project, tmp_path)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("used_before", [False, True])
async def test_a_flow_that_the_host_refuses_is_named_in_its_words(
    project: Project, tmp_path: Path, used_before: bool
) -> None:
    if used_before:
        configure_structlog(logging.WARNING)
        validator.structlogger.error("somebody.else", event_info="Not of this training.")
    flow = tmp_path / "flows" / "nowhere.yml"
    flow.parent.mkdir(exist_ok=True)
    flow.write_text(
        "flows: {nowhere: {description: Leads nowhere., steps: [{action: utter_nowhere}]}}"
    )
    named = replace(project, data=(*project.training_files, "flows"))
    with pytest.raises(HostError, match=r"cannot be trained: .*nowhere") as refusal:
        await train(named, tmp_path)
    assert "\n" not in str(refusal.value)


async def test_a_model_that_cannot_be_loaded_is_one_line(project: Project, tmp_path: Path) -> None:
    (tmp_path / "model.tar.gz").write_text("no archive")
    with pytest.raises(HostError, match="cannot be loaded") as refusal:
        async with loaded(project, tmp_path / "model.tar.gz"):
            pass
    assert "\n" not in str(refusal.value)


async def test_a_folder_without_a_project_is_refused_before_the_host_is_asked(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigurationError, match=r"config\.yml: config: there is no such file"):
        await train(Project(folder=tmp_path), tmp_path)


def test_training_data_is_what_is_named_else_the_usual_folder(tmp_path: Path) -> None:
    assert Project(folder=tmp_path).training_files == ["data"]
    (tmp_path / "flows").mkdir()
    assert Project(folder=tmp_path).training_files == ["flows"]
    assert Project(folder=tmp_path, data=("a", "b.yml")).training_files == ["a", "b.yml"]


async def test_an_untested_host_is_refused(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compatibility, "TESTED_HOST", "3.99")
    with pytest.raises(HostError, match="RASA_REACT_EXT_ANY_HOST"):
        await train(project, tmp_path)
