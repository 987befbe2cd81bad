"""An agent's class whose file cannot be imported, as training and the start tell it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rasa_react_ext.errors import ConfigurationError

if TYPE_CHECKING:
    from rasa.core.available_agents import AgentConfig

pytestmark = pytest.mark.host

FAULTS = {
    "a module that is not there": ("import os\nimport no_such_package\n", 2, "'no_such_package'"),
    "a name that is not there": ("from os import no_such_name\n", 1, "'no_such_name'"),
    "a line that is no Python": ("import os\n\nclass Desk(:\n", 3, "invalid syntax"),
    "a statement that fails": ("import os\n\n\nos.no_such_thing\n", 4, "no_such_thing"),
}


@pytest.mark.parametrize("protocol", ["RASA", "A2A"])
@pytest.mark.parametrize("name", FAULTS)
def test_an_import_that_fails_in_the_file_of_a_class_is_told_by_file_and_line(
    name: str, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, line, word = FAULTS[name]
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = f"desk_{protocol.lower()}_{line}_{len(text)}"
    Path(f"{module}.py").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        _build(_config(protocol, f"{module}.Desk"))
    refused = caught.value
    assert (refused.file, refused.key) == ("sub_agents: desk: config.yml", "configuration: module")
    assert refused.problem.startswith(
        f"'{module}.Desk' cannot be imported: {module}.py, line {line}: "
    )
    assert word in refused.problem
    assert refused.fix == "Correct that line."


@pytest.mark.parametrize("protocol", ["RASA", "A2A"])
@pytest.mark.parametrize("path", ["no_such_desk.Desk", "pathlib.Desk"])
def test_a_path_that_is_wrong_is_told_to_be_wrong(protocol: str, path: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be imported") as caught:
        _build(_config(protocol, path))
    assert caught.value.fix == "Correct the path."


def _config(protocol: str, module: str) -> AgentConfig:
    from rasa.core.available_agents import (
        AgentConfig,
        AgentConfiguration,
        AgentInfo,
        ProtocolConfig,
    )

    return AgentConfig(
        agent=AgentInfo(name="desk", protocol=ProtocolConfig(protocol), description="sells"),
        configuration=AgentConfiguration(module=module, agent_card="https://desk.example"),
    )


def _build(config: AgentConfig) -> object:
    from rasa.core.config.available_endpoints import AvailableEndpoints

    from rasa_react_ext.host.build import build_agents
    from rasa_react_ext.host.external.build import build_external_agents
    from rasa_react_ext.host.settings import Settings

    agents, endpoints = {"desk": config}, AvailableEndpoints()
    return build_agents(agents, endpoints), build_external_agents(agents, endpoints, Settings())
