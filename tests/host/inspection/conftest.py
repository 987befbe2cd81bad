"""Copies of the sample that a test may break."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from demo.backend import ROOT
from demo.market import running_market
from demo.reports import running_house
from tests.sample import SAMPLE_PARTS


@pytest.fixture(scope="session")
def market() -> Iterator[str]:
    """URL of the sample's MCP server."""
    with running_market() as url:
        yield url


@pytest.fixture(scope="session")
def reports_card() -> Iterator[str]:
    """URL of the card of the sample's external agent."""
    with running_house() as url:
        yield url


@pytest.fixture
def sample(
    host: None, market: str, reports_card: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A copy of the sample's project files as working directory; its model is never asked."""
    for part in SAMPLE_PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tmp_path / part)
        else:
            shutil.copy(source, tmp_path / part)
    monkeypatch.chdir(tmp_path)
    variables = {
        "WEALTH_DESK_MARKET_URL": market,
        "WEALTH_DESK_REPORTS_CARD": reports_card,
        "WEALTH_DESK_URL": "http://127.0.0.1:5005",
        "WEALTH_DESK_COMMANDS_MODEL": "commands",
        "WEALTH_DESK_AGENTS_MODEL": "agents",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "offline",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def edit(sample: Path) -> Callable[[str, str, str], None]:
    """Replaces a text in one of the files; the text must be there."""

    def replace(file: str, old: str, new: str) -> None:
        path = sample / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    return replace
