"""Settings: who wins, and what is refused, at training as well as at load."""

from __future__ import annotations

from typing import Any

import pytest

from rasa_react_ext.host.settings import read_settings
from tests.host.project import Project, loaded
from tests.host.refused import refused

pytestmark = pytest.mark.host


def test_d6_endpoints_win_over_the_agents_map_and_that_over_the_entry() -> None:
    settings = read_settings(
        {
            "max_steps": 5,
            "max_repeats": 4,
            "memory": "off",
            "agents": {"clerk": {"max_steps": 6, "max_repeats": 5}},
        },
        {"agents": {"clerk": {"max_steps": 7}}},
    )
    clerk, porter = settings.for_agent("clerk"), settings.for_agent("porter")
    assert (clerk.max_steps, clerk.max_repeats, clerk.memory) == (7, 5, "off")
    assert (porter.max_steps, porter.max_repeats, porter.memory) == (5, 4, "off")


def test_d6_what_nobody_sets_stays_unset() -> None:
    assert set(read_settings({}, None).for_agent("clerk").model_dump().values()) == {None}


@pytest.mark.parametrize(
    ("entry", "key", "says"),
    [
        ({"max_stepz": 3}, "ReActPolicy: max_stepz", "Did you mean 'max_steps'?"),
        ({"zzz": 3}, "ReActPolicy: zzz", "The keys are: acknowledgement, agents"),
        ({"agents": {"clerk": {"memoryy": "off"}}}, "agents: clerk: memoryy", "mean 'memory'?"),
        ({"max_steps": 0}, "ReActPolicy: max_steps", "above 0"),
        ({"max_steps": "many"}, "ReActPolicy: max_steps", "whole number"),
        ({"on_limit": "explode"}, "ReActPolicy: on_limit", "one of ask, fail"),
        ({"max_repeats": 1}, "ReActPolicy: max_repeats", "at least 2"),
        ({"model_retries": -1}, "ReActPolicy: model_retries", "at least 0"),
    ],
)
def test_d6_a_wrong_entry_in_config_yml_is_refused_with_key_and_fix(
    entry: dict[str, Any], key: str, says: str
) -> None:
    with refused(file="config.yml", key=key, says=says):
        read_settings(entry, None)


@pytest.mark.parametrize(
    ("section", "key", "says"),
    [
        ({"agentz": {}}, "rasa_react_ext: agentz", "Did you mean 'agents'?"),
        ({"max_steps": 3}, "rasa_react_ext: max_steps", "this key is unknown"),
        ({"agents": {"clerk": {"max_stepz": 1}}}, "agents: clerk: max_stepz", "mean 'max_steps'?"),
        ({"agents": {"clerk": {"max_steps": 0}}}, "agents: clerk: max_steps", "above 0"),
        ("on", "rasa_react_ext", "must hold keys"),
    ],
)
def test_d6_a_wrong_section_in_endpoints_yml_is_refused_with_key_and_fix(
    section: Any, key: str, says: str
) -> None:
    with refused(file="prod-endpoints.yml", key=key, says=says):
        read_settings({}, section, endpoints_file="prod-endpoints.yml")


async def test_d6_training_refuses_an_unknown_key(project: Project) -> None:
    with refused(file="config.yml", key="max_stepz", says="Did you mean 'max_steps'?"):
        await project.with_settings(max_stepz=3).train()


async def test_d6_training_refuses_zero_steps(project: Project) -> None:
    with refused(file="config.yml", key="max_steps", says="above 0"):
        await project.with_settings(max_steps=0).train()


async def test_d6_training_refuses_an_unknown_key_in_endpoints_yml(project: Project) -> None:
    with refused(file="endpoints.yml", key="rasa_react_ext: agentz", says="mean 'agents'?"):
        await project.having(section={"agentz": {}}).with_settings(max_steps=9).train()


async def test_d6_a_load_refuses_an_unknown_key_in_endpoints_yml(project: Project) -> None:
    await project.train()
    with refused(file="endpoints.yml", key="rasa_react_ext: agentz", says="mean 'agents'?"):
        async with loaded(project.having(section={"agentz": {}})):
            pass


async def test_d6_a_load_refuses_settings_for_an_agent_that_is_not_there(project: Project) -> None:
    await project.train()
    changed = project.having(section={"agents": {"clark": {"max_steps": 3}}})
    with refused(file="endpoints.yml", key="agents: clark", says="Did you mean 'clerk'?"):
        async with loaded(changed):
            pass


async def test_d6_training_refuses_settings_for_an_agent_that_is_not_there(
    project: Project,
) -> None:
    with refused(file="config.yml", key="agents: clark", says="Did you mean 'clerk'?"):
        await project.with_settings(agents={"clark": {"max_steps": 3}}).train()
