"""docs/configuration.md says what the settings models say."""

from __future__ import annotations

from pathlib import Path

import pytest

from rasa_react_ext.host.settings import AgentSettings, EngineSettings
from tests.host.settings_table import tables

pytestmark = pytest.mark.host

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


@pytest.mark.parametrize("model", sorted(tables()))
def test_d6_each_settings_model_has_its_table_in_the_docs(model: str) -> None:
    table = tables()[model]
    assert table in PAGE.read_text(encoding="utf-8"), f"Paste into {PAGE.name}:\n\n{table}"


def test_d6_the_policy_entry_adds_only_the_agents_map() -> None:
    assert set(EngineSettings.model_fields) - set(AgentSettings.model_fields) == {"agents"}
