"""A small Rasa project for tests of the host adapters: written, trained, loaded.

Training is shared: equal domain, flows, policies and agents are trained once per process.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

__all__ = ["COMMANDS", "Project", "agent_config", "hosts_own_warnings", "loaded"]

POLICY = "rasa_react_ext.policy.ReActPolicy"

DOMAIN = """
version: "3.1"
slots:
  size:
    type: text
    mappings: [{type: from_llm}]
  amount:
    type: float
    mappings: [{type: from_llm}]
  express:
    type: bool
    mappings: [{type: from_llm}]
  desk:
    type: text
    mappings: [{type: controlled}]
responses:
  utter_bye: [{text: Come again.}]
  utter_booked: [{text: "Booked: {size}."}]
  utter_filled: [{text: "Filled: {size}, {amount}."}]
"""

FLOWS = """
flows:
  shop:
    description: The customer wants to look for something in the shop.
    steps:
      - call: clerk
      - action: utter_bye
  booking:
    description: The customer wants to book something.
    steps:
      - call: clerk
        exit_if:
          - slots.size is not null
      - action: utter_booked
  order_form:
    description: The customer wants to fill an order form.
    steps:
      - call: clerk
        exit_if:
          - slots.size is not null
          - slots.amount > 0
      - action: utter_filled
"""

COMMANDS: tuple[dict[str, Any], ...] = (
    {
        "when": {"model": "commands", "user": r'/last message: """start (?P<flow>\w+)/'},
        "answer": "start flow {{ flow }}",
    },
    {"when": {"model": "commands"}, "answer": "continue agent"},
)
"""Model rules for the host's command generator: `start FLOW`, else the agent goes on."""


def agent_config(
    name: str = "clerk", *, servers: Sequence[Any] = ("store",), **configuration: Any
) -> dict[str, Any]:
    """The config.yml of a sub agent.

    Args:
        name: Name of the agent.
        servers: Names of MCP servers, or whole entries.
        configuration: Keys below `configuration:`.
    """
    entries = [{"name": server} if isinstance(server, str) else server for server in servers]
    return {
        "agent": {"name": name, "protocol": "RASA", "description": "Serves in the shop."},
        "configuration": {"llm": {"model_group": "agents"}, **configuration},
        "connections": {"mcp_servers": entries},
    }


@dataclass(frozen=True, kw_only=True)
class Project:
    """What a project's files say.

    Attributes:
        folder: Where they are written.
        model_url: Base URL of the model.
        servers: URL of each MCP server, by name.
        params: Further keys of these servers, by name.
        agents: The config.yml of each sub agent, by name.
        policies: The `policies:` of config.yml.
        section: Keys of the `rasa_react_ext:` section of endpoints.yml.
        domain: Text of the domain.
        flows: Text of the flows.
    """

    folder: Path
    model_url: str
    servers: Mapping[str, str]
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: {"clerk": agent_config()}
    )
    policies: Sequence[Mapping[str, Any]] = ({"name": "FlowPolicy"}, {"name": POLICY})
    section: Mapping[str, Any] = field(default_factory=dict)
    domain: str = DOMAIN
    flows: str = FLOWS

    def having(self, **changes: Any) -> Project:
        """The same project with some parts changed."""
        return replace(self, **changes)

    def with_settings(self, **settings: Any) -> Project:
        """The same project with these keys in its `ReActPolicy` entry."""
        return replace(self, policies=({"name": "FlowPolicy"}, {"name": POLICY, **settings}))

    def with_agent(self, name: str = "clerk", **changes: Any) -> Project:
        """The same project with one agent made by `agent_config`."""
        return replace(self, agents={**self.agents, name: agent_config(name, **changes)})

    def open(self) -> Any:
        """Write the files and have the host read its settings from them."""
        from rasa.core.config.configuration import Configuration

        self._write()
        Configuration.initialise_endpoints(self.folder / "endpoints.yml")
        Configuration.initialise_sub_agents(self.folder / "sub_agents")
        return Configuration.get_instance()

    async def train(self) -> Path:
        """The model archive; trained if no equal project was before."""
        from rasa.model_training import train

        self.open()
        key = (self.domain, self.flows, repr(self.policies), tuple(sorted(self.agents)))
        if key not in _trained:
            with hosts_own_warnings():
                result = await train(
                    domain=str(self.folder / "domain.yml"),
                    config=str(self.folder / "config.yml"),
                    training_files=[str(self.folder / "flows.yml")],
                    endpoints=str(self.folder / "endpoints.yml"),
                    output=tempfile.mkdtemp(dir=_models()),
                    fixed_model_name="model",
                )
            assert result.model is not None
            assert not result.code
            _trained[key] = Path(result.model)
            self.open()
        return _trained[key]

    def _write(self) -> None:
        files: dict[str, Any] = {
            "config.yml": {
                "recipe": "default.v1",
                "assistant_id": "store",
                "language": "en",
                "pipeline": [
                    {
                        "name": "CompactLLMCommandGenerator",
                        "llm": {"model_group": "commands"},
                        "flow_retrieval": {"active": False},
                    }
                ],
                "policies": [dict(policy) for policy in self.policies],
            },
            "endpoints.yml": {
                "model_groups": [self._group("commands"), self._group("agents")],
                "mcp_servers": [
                    {"name": name, "url": url, "type": "http", **self.params.get(name, {})}
                    for name, url in self.servers.items()
                ],
                "rasa_react_ext": {"store": str(self.folder / "store.db"), **self.section},
            },
        }
        files |= {f"sub_agents/{name}/config.yml": agent for name, agent in self.agents.items()}
        shutil.rmtree(self.folder / "sub_agents", ignore_errors=True)
        for name, content in files.items():
            self._put(name, yaml.safe_dump(content, sort_keys=False))
        self._put("domain.yml", self.domain)
        self._put("flows.yml", self.flows)

    def _put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _group(self, name: str) -> dict[str, Any]:
        model = {
            "provider": "openai",
            "model": name,
            "api_base": self.model_url,
            "api_key": "${OPENAI_API_KEY}",
            "timeout": 20,
        }
        return {"id": name, "models": [model]}


@contextlib.asynccontextmanager
async def loaded(
    project: Project, *, prepared: bool = True, archive: Path | None = None
) -> AsyncIterator[Any]:
    """The project's assistant, as the host's `Agent`, while the block runs.

    Args:
        project: The project; trained if need be.
        prepared: Whether the host is told of the sub agents, as `rasa run` does and
            a model server does not.
        archive: The model another process trained.
    """
    from rasa.core.agent import load_agent
    from rasa.shared.agents.agent_setup import AgentsConnectionCleanup

    from rasa_react_ext.host.chat import closing_clients

    archive = archive or await project.train()
    configuration = project.open()
    async with closing_clients(), AgentsConnectionCleanup():
        with hosts_own_warnings():
            agent = await load_agent(
                model_path=str(archive),
                endpoints=configuration.endpoints,
                sub_agents=configuration.available_agents if prepared else None,
            )
            yield agent


@contextlib.contextmanager
def hosts_own_warnings() -> Iterator[None]:
    """Lets the host and its libraries warn; warnings about our code stay errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", module=r"rasa_react_ext\.")
        yield


_trained: dict[tuple[Any, ...], Path] = {}
_folders: list[tempfile.TemporaryDirectory[str]] = []


def _models() -> str:
    """A folder for archives that goes when the process ends."""
    if not _folders:
        _folders.append(tempfile.TemporaryDirectory(prefix="store-models-"))
    return _folders[0].name
