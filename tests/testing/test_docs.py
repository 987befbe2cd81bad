"""The page on testing is true: its scripts load, and it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from rasa_react_ext.testing import PROFILES, Exchange, ModelScript, ModelServer
from rasa_react_ext.testing.reply import Player
from rasa_react_ext.testing.script import Answer, Call, Fault, Rule, Stream, When

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
SCRIPTS = [
    block for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "rules:" in block
]


@pytest.mark.parametrize("block", SCRIPTS, ids=range(len(SCRIPTS)))
def test_every_script_of_the_page_loads(block: str) -> None:
    script = ModelScript.from_rules(yaml.safe_load(block)["rules"])
    assert script.rules
    Player(script)


@pytest.mark.parametrize("model", [Answer, Call, Fault, Rule, Stream, When])
def test_every_key_of_a_script_is_on_the_page(model: type[BaseModel]) -> None:
    assert [key for key in model.model_fields if not re.search(rf"`{key}[`:]", PAGE)] == []


def test_everything_a_test_can_ask_is_on_the_page() -> None:
    names = {name for name in vars(ModelServer) if not name.startswith("_")}
    names |= set(Exchange.__slots__)
    assert {name for name in names if not re.search(rf"`(await )?{name}[`(]", PAGE)} == set()


def test_every_profile_is_on_the_page() -> None:
    assert [name for name in PROFILES if f"| `{name}` |" not in PAGE] == []
