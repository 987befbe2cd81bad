"""The tables of settings on the pages are those that the code comes to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rasa_react_ext.host import limit
from rasa_react_ext.host.external import background
from rasa_react_ext.host.mcp import asking, progress, sampling, tool_turn
from rasa_react_ext.host.settings import EXTERNAL_KEYS, AgentSettings, EngineSettings
from scripts.settings_reference import PAGES, TABLE, models, rewritten, tables

pytestmark = pytest.mark.host

IN_FORCE = {
    "background_seconds": background.BACKGROUND_SECONDS,
    "elicitation_wait_seconds": asking.WAIT_SECONDS,
    "max_parallel_tools": limit.PARALLEL_TOOLS,
    "max_repeats": limit.MAX_REPEATS,
    "memory_limit_bytes": limit.MEMORY_LIMIT_BYTES,
    "model_retries": limit.MODEL_RETRIES,
    "progress_interval_seconds": progress.INTERVAL_SECONDS,
    "result_limit_chars": tool_turn.RESULT_LIMIT_CHARS,
    "sampling_max_calls": sampling.MAX_CALLS,
    "sampling_max_tokens": sampling.MAX_TOKENS,
}
"""Values that hold where an agent's setting is left out."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_d6_each_settings_model_has_its_table_in_the_docs(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert rewritten(text, tables()) == text, "run `make docs`"


def test_d6_no_settings_model_is_left_out() -> None:
    marked = [name for page in PAGES for name in TABLE.findall(page.read_text(encoding="utf-8"))]
    assert sorted(marked) == sorted(models())


def test_d6_every_setting_says_what_it_means() -> None:
    fields = [field for model in models().values() for field in model.model_fields.items()]
    assert [key for key, field in fields if not field.description] == []


def test_d6_a_table_that_was_changed_by_hand_is_written_anew() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    changed = text.replace("| Model calls in one turn |", "| Anything |")
    assert changed != text
    assert rewritten(changed, tables()) == text


@pytest.mark.parametrize("key", IN_FORCE)
def test_d6_a_default_that_is_told_is_the_one_in_force(key: str) -> None:
    told = re.search(r" Default: (\d+)\.$", AgentSettings.model_fields[key].description or "")
    assert told is not None
    assert float(told[1]) == IN_FORCE[key]


def test_d6_the_policy_entry_adds_only_the_agents_map() -> None:
    assert set(EngineSettings.model_fields) - set(AgentSettings.model_fields) == {"agents"}


def test_d6_the_page_says_which_keys_are_for_external_agents() -> None:
    (told,) = re.findall(r"by name\. (.*) are for external agents", PAGES[0].read_text("utf-8"))
    assert set(re.findall(r"`(\w+)`", told)) == EXTERNAL_KEYS
