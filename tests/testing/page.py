"""The page on testing as the tests run it: its files, its commands, a project for them."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["PAGE", "commands", "write_files", "write_project"]

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")

_BLOCK = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"# (tests/[\w/.]+)(?:, further down)?\n")

PROJECT = {
    "config.yml": """
recipe: default.v1
assistant_id: shares
language: en
pipeline:
  - name: CompactLLMCommandGenerator
    llm: {model_group: commands}
policies:
  - name: FlowPolicy
  - name: rasa_react_ext.policy.ReActPolicy
""",
    "domain.yml": """
version: "3.1"
responses:
  utter_bye: [{text: Come again.}]
""",
    "flows/explore.yml": """
flows:
  explore_stocks:
    description: Look into listed companies and their prices.
    steps:
      - call: stock_explorer
      - action: utter_bye
""",
    "sub_agents/stock_explorer/config.yml": """
agent:
  name: stock_explorer
  protocol: RASA
  description: Tells prices of shares.
configuration:
  llm: {model_group: agents}
connections:
  mcp_servers:
    - name: market
""",
    # Models and stores as a project in production has them; none of this can be reached here.
    "endpoints.yml": """
model_groups:
  - id: commands
    models:
      - provider: azure
        deployment: commands
        api_base: https://azure.invalid
        api_version: "2024-10-21"
        api_key: ${AZURE_API_KEY}
        timeout: 20
  - id: agents
    models:
      - {provider: anthropic, model: agents, api_key: "${ANTHROPIC_API_KEY}"}
  - id: embeddings
    models:
      - {provider: openai, model: text-embedding-3-large}
mcp_servers:
  - {name: market, url: "https://market.invalid/mcp", type: http}
tracker_store: {type: SQL, dialect: postgresql, url: db.invalid, db: tracker}
event_broker: {type: kafka, url: kafka.invalid}
""",
}


def write_project(folder: Path) -> None:
    """A Rasa project for the page's tests, without them."""
    for name, text in PROJECT.items():
        _append(folder / name, text)


def write_files(folder: Path) -> list[str]:
    """Every file that the page shows; the names of all."""
    written: list[str] = []
    for _, block in _BLOCK.findall(PAGE):
        named = _FILE.match(block)
        if named is not None:
            _append(folder / named[1], block)
            written.append(named[1])
    return written


def commands() -> list[str]:
    """Every line of the page that begins with a command."""
    lines = [line for kind, block in _BLOCK.findall(PAGE) if not kind for line in block.split("\n")]
    return [
        line for line in lines if re.match(r"(\w+=\S+ )?(rasa-react|pytest|python|rasa) ", line)
    ]


def _append(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)
