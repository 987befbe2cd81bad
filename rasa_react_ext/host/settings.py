"""Settings of the engine and of a deployment, and where they come from.

Behaviour: the `ReActPolicy` entry in config.yml, with an `agents:` map. The same
map under `rasa_react_ext:` in endpoints.yml overrides it at start. What differs
by deployment stays in endpoints.yml only (design D6).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
)

from rasa_react_ext.errors import ConfigurationError
from rasa_react_ext.explain.setting import nearest, refusal
from rasa_react_ext.host.mcp.settings import ElicitationWords, McpServerSettings, ToolSettings

__all__ = [
    "AgentSettings",
    "DeploymentSettings",
    "ElicitationWords",
    "EngineSettings",
    "McpServerSettings",
    "Settings",
    "ShareSettings",
    "check_kinds",
    "read_settings",
]

POLICY_PLACE = "policies: rasa_react_ext.policy.ReActPolicy"
SECTION = "rasa_react_ext"
DEFAULT_STORE = ".rasa/rasa_react_ext.db"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ShareSettings(_Strict):
    """What an external agent is told beside the user's words."""

    slots: list[str] | None = Field(
        default=None, description="Names of the slots it is told. Default: all that have a value."
    )
    metadata: list[str] | None = Field(
        default=None,
        description="Keys of AgentInput.metadata it is told; what a pre_call_hook returns is "
        "always sent. Default: all but the host's working keys.",
    )
    history: Literal["resumed", "first", "never"] | None = Field(
        default=None,
        description="When it is sent the conversation instead of the last message: after an "
        "interruption, also at first contact, or never. Default: resumed.",
    )


class AgentSettings(ToolSettings):
    """Behaviour of one agent; what is unset falls back to the engine's value."""

    max_steps: PositiveInt | None = Field(
        default=None,
        description="Model calls in one turn. Default: 10, or the class's MAX_ITERATIONS.",
    )
    max_parallel_tools: PositiveInt | None = Field(
        default=None, description="Tools that run at once. Default: 16."
    )
    max_tokens: PositiveInt | None = Field(
        default=None,
        description="Tokens in one turn, where the provider counts them. Default: no limit.",
    )
    max_repeats: int | None = Field(
        default=None,
        ge=2,
        description="Equal calls with equal results, or refused calls, that end a turn. "
        "Default: 3.",
    )
    model_retries: int | None = Field(
        default=None,
        ge=0,
        description="Further attempts when the model cannot be reached. Default: 2.",
    )
    on_limit: Literal["ask", "fail"] | None = Field(
        default=None,
        description="What the flow sees when a budget is exhausted: `ask` (input required) or "
        "`fail`. Default: ask.",
    )
    on_cancel: Literal["wait", "end"] | None = Field(
        default=None, description="Whether a cancelled turn keeps the flow alive. Default: wait."
    )
    memory: Literal["on", "off"] | None = Field(
        default=None,
        description="Whether tool calls and results are kept across turns. Default: on.",
    )
    memory_limit_bytes: PositiveInt | None = Field(
        default=None, description="Size of that memory in a conversation. Default: 32768."
    )
    history_turns: PositiveInt | None = Field(
        default=None, description="User and bot messages the model sees. Default: 10."
    )

    share: ShareSettings | None = Field(
        default=None, description="What an external agent is told. Default: everything."
    )
    card_key: SecretStr | None = Field(
        default=None,
        description="Key that an external agent's card must be signed with: PEM, JSON Web Key "
        "(Set) or shared secret, best as ${VARIABLE}. Default: signatures are not looked at.",
    )
    ca_file: str | None = Field(
        default=None,
        description="PEM file of the authorities that may vouch for an external agent's "
        "certificate, for its card and every transport. Default: the usual ones.",
    )
    card_refresh_seconds: PositiveFloat | None = Field(
        default=None, description="Age at which an agent's card is read again. Default: 3600."
    )
    busy: Literal["guard", "free"] | None = Field(
        default=None,
        description="What a user can do while an external agent works in the background: "
        "`guard` answers with pattern_external_agent_processing, `free` lets the user go on. "
        "Default: guard.",
    )
    hold: bool | None = Field(
        default=None,
        description="With `busy: free`: whether words for the busy agent are kept and sent to "
        "it as a follow-up. Default: false.",
    )
    acknowledgement: str | None = Field(
        default=None,
        description="With `busy: free`: what is said when a task has begun and the agent itself "
        "said nothing. Default: a short sentence.",
    )
    background_seconds: PositiveFloat | None = Field(
        default=None,
        description="Longest time of a task in the background. Default: 3600.",
    )
    allow_private_push_url: bool | None = Field(
        default=None,
        description="Whether push_notification_url may be other than public HTTPS. Default: false.",
    )


EXTERNAL_KEYS = frozenset(
    {
        "share",
        "card_key",
        "ca_file",
        "card_refresh_seconds",
        "busy",
        "hold",
        "acknowledgement",
        "background_seconds",
        "allow_private_push_url",
    }
)
"""Keys of external agents; `on_cancel` is for both kinds, every other for ReAct agents."""


class EngineSettings(AgentSettings):
    """The `ReActPolicy` entry of config.yml."""

    agents: dict[str, AgentSettings] = Field(
        default_factory=dict, description="Values for single agents, by name."
    )


class DeploymentSettings(_Strict):
    """The `rasa_react_ext:` section of endpoints.yml."""

    store: SecretStr = Field(
        default=SecretStr(DEFAULT_STORE),
        description="Database for durable state: a file path, sqlite:///path or "
        "postgresql://user:${PASSWORD}@host/name.",
    )
    agents: dict[str, AgentSettings] = Field(
        default_factory=dict, description="Overrides config.yml without a new training."
    )
    mcp_servers: dict[str, McpServerSettings] = Field(
        default_factory=dict,
        description="How MCP servers are really reached, by the names they have in the host's "
        "own `mcp_servers:`.",
    )
    trace_folder: str | None = Field(
        default=None,
        description="Folder for the JSON-lines record of each conversation. Default: no record.",
    )
    trace_content: Literal["short", "full"] = Field(
        default="short",
        description="Whether long values are cut in that record; secrets are always hidden.",
    )


class Settings(_Strict):
    """All settings of a process."""

    engine: EngineSettings = Field(default_factory=EngineSettings)
    deployment: DeploymentSettings = Field(default_factory=DeploymentSettings)

    def for_agent(self, name: str) -> AgentSettings:
        """The values that hold for one agent, the most specific first."""
        sources = (
            self.deployment.agents.get(name),
            self.engine.agents.get(name),
            self.engine,
        )
        merged: dict[str, Any] = {}
        for key in AgentSettings.model_fields:
            values = (getattr(source, key) for source in sources if source is not None)
            merged[key] = next((value for value in values if value is not None), None)
        return AgentSettings(**merged)

    def check_agents(self, known: list[str]) -> None:
        """Refuse settings for agents that do not exist.

        Raises:
            ConfigurationError: Names file, key and the nearest agent.
        """
        places = (
            ("config.yml", f"{POLICY_PLACE}: agents", self.engine.agents),
            ("endpoints.yml", f"{SECTION}: agents", self.deployment.agents),
        )
        for file, place, agents in places:
            for name in agents:
                if name not in known:
                    raise ConfigurationError(
                        file=file,
                        key=f"{place}: {name}",
                        problem="there is no such sub agent.",
                        fix=nearest(name, known) or "Remove the entry or add the agent.",
                    )

    def check_servers(self, known: list[str]) -> None:
        """Refuse ways to servers that the host's own list does not have.

        Raises:
            ConfigurationError: Names the key and the nearest server.
        """
        for name in self.deployment.mcp_servers:
            if name not in known:
                raise ConfigurationError(
                    file="endpoints.yml",
                    key=f"{SECTION}: mcp_servers: {name}",
                    problem="the file's own `mcp_servers:` has no server of this name.",
                    fix=nearest(name, known)
                    or f"Add `- name: {name}` there with type http and any http url.",
                )


def check_kinds(settings: Settings, external: Collection[str]) -> None:
    """Refuse settings of one kind of agent for an agent of the other.

    Args:
        settings: All settings.
        external: Names of the external agents.

    Raises:
        ConfigurationError: Names file and key.
    """
    places = (
        ("config.yml", f"{POLICY_PLACE}: agents", settings.engine.agents),
        ("endpoints.yml", f"{SECTION}: agents", settings.deployment.agents),
    )
    for file, place, agents in places:
        for name, values in agents.items():
            for key in sorted(values.model_fields_set - {"on_cancel"}):
                if (key in EXTERNAL_KEYS) != (name in external):
                    kind = "an external agent" if name in external else "a ReAct agent"
                    raise ConfigurationError(
                        file=file,
                        key=f"{place}: {name}: {key}",
                        problem=f"{name!r} is {kind}, which has no such setting.",
                        fix="Remove the key.",
                    )


def read_settings(
    policy: Mapping[str, Any], section: object, *, endpoints_file: str = "endpoints.yml"
) -> Settings:
    """Validate both homes of the settings.

    Args:
        policy: Our keys of the policy entry in config.yml.
        section: The `rasa_react_ext:` section of endpoints.yml, or None.
        endpoints_file: Name of the endpoints file, for messages.

    Raises:
        ConfigurationError: A key is unknown or a value does not fit.
    """
    if section is not None and not isinstance(section, Mapping):
        raise ConfigurationError(
            file=endpoints_file,
            key=SECTION,
            problem="this must hold keys.",
            fix="Write keys with values below it, e.g. `agents:`.",
        )
    return Settings(
        engine=_validated(EngineSettings, policy, "config.yml", POLICY_PLACE),
        deployment=_validated(DeploymentSettings, section or {}, endpoints_file, SECTION),
    )


_Model = TypeVar("_Model", bound=BaseModel)


def _validated(model: type[_Model], values: Mapping[str, Any], file: str, place: str) -> _Model:
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        raise refusal(error, model, file=file, place=place) from error
