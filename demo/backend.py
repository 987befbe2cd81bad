"""What the assistant talks to besides the user: the market server and a model.

Owns their start and stop and the environment that `endpoints.yml` is filled from.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from demo.failure import DemoError
from rasa_react_ext.testing import ModelScript, ModelServer, ScriptedModel

__all__ = ["ROOT", "SCRIPTS", "Model", "project_environment", "read_scripts", "scripted_model"]

ROOT = Path(__file__).parents[1]
SCRIPTS = ROOT / "data" / "model"


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A model behind an OpenAI-compatible API.

    Attributes:
        url: Its base URL.
        api_key: Key to send; the scripted model does not look at it.
        commands: Name of the model that the host's command generator asks.
        agents: Name of the model that drives the sub agents.
    """

    url: str
    api_key: str = "offline"
    commands: str = "wealth-desk-commands"
    agents: str = "wealth-desk-agents"


def read_scripts(*folders: Path) -> ModelScript:
    """Join the scripts (`*.yml`) of some folders, in the order of their names.

    Args:
        folders: Where the scripts are; the rules of later folders come last.

    Raises:
        DemoError: If a folder has no script.
        ConfigurationError: If a script has a mistake.
    """
    scripts: list[Path] = []
    for folder in folders:
        found = sorted(folder.glob("*.yml"))
        if not found:
            raise DemoError(f"There is no model script (*.yml) in {folder}.")
        scripts += found
    rules = [rule for script in scripts for rule in ModelScript.from_file(script).rules]
    return ModelScript.from_rules(rules, source=str(folders[0]))


@contextlib.contextmanager
def scripted_model(
    *folders: Path, port: int = 0
) -> Generator[tuple[Model, ModelServer], None, None]:
    """Serve the scripts of some folders, by default the sample's, while the block runs.

    Args:
        folders: Where the scripts are.
        port: Loopback port; 0 takes a free one.

    Yields:
        How to reach the model, and the server with its log of requests.
    """
    with ScriptedModel(read_scripts(*folders or (SCRIPTS,))).serve(port) as server:
        yield Model(url=server.base_url), server


@contextlib.contextmanager
def project_environment(
    *, market_url: str, model: Model, cache: Path
) -> Generator[None, None, None]:
    """Stand in the project's folder with the environment that its files ask for.

    Args:
        market_url: URL of the MCP server.
        model: The model to use.
        cache: Folder for the host's training cache.
    """
    wanted = {
        "WEALTH_DESK_MARKET_URL": market_url,
        "WEALTH_DESK_COMMANDS_MODEL": model.commands,
        "WEALTH_DESK_AGENTS_MODEL": model.agents,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": model.api_key,
        "RASA_CACHE_DIRECTORY": str(cache),
        "RASA_TELEMETRY_ENABLED": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    with contextlib.chdir(ROOT), _environment(wanted):
        yield


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Generator[None, None, None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
