"""What the assistant talks to besides the user: market, reporting house and a model.

Owns the start of the model and the environment that the project's files are filled from.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from demo.failure import DemoError
from rasa_react_ext.assistant import Project
from rasa_react_ext.testing import ModelScript, ModelServer, ScriptedModel

__all__ = [
    "ROOT",
    "SCRIPTS",
    "Model",
    "free_port",
    "read_scripts",
    "sample_project",
    "scripted_model",
]

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
def sample_project(
    work: Path, *, market_url: str, reports_card: str, model: Model, port: int
) -> Generator[Project, None, None]:
    """Stand in the sample's folder with the environment that its files ask for.

    Args:
        work: Folder for what the assistant writes: its training cache and its durable state.
        market_url: URL of the MCP server.
        reports_card: URL of the external agent's card.
        model: The model to use.
        port: Where the assistant's own server listens, if it has one.

    Yields:
        The project.
    """
    wanted = {
        "WEALTH_DESK_MARKET_URL": market_url,
        "WEALTH_DESK_REPORTS_CARD": reports_card,
        "WEALTH_DESK_URL": f"http://127.0.0.1:{port}",
        "WEALTH_DESK_COMMANDS_MODEL": model.commands,
        "WEALTH_DESK_AGENTS_MODEL": model.agents,
        "OPENAI_BASE_URL": model.url,
        "OPENAI_API_KEY": model.api_key,
        "RASA_CACHE_DIRECTORY": str(work / "cache"),
        "RASA_TELEMETRY_ENABLED": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    written = yaml.safe_load((ROOT / "endpoints.yml").read_text(encoding="utf-8"))
    section = {"store": str(work / "store.db"), **written.get("rasa_react_ext", {})}
    endpoints = work / "endpoints.yml"
    endpoints.write_text(yaml.safe_dump({**written, "rasa_react_ext": section}), encoding="utf-8")
    with contextlib.chdir(ROOT), _environment(wanted):
        yield Project(folder=ROOT, endpoints=str(endpoints))


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


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
