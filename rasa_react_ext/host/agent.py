"""The agent class that takes the place of the host's two ReAct agents.

It keeps every documented hook; the work of a turn is in `conduct`. No state of a
run lives on the object: one instance serves all conversations at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rasa.agents.core.types import ProtocolType
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.protocol.mcp.mcp_task_agent import MCPTaskAgent
from rasa.agents.schemas import AgentInput, AgentOutput, AgentToolResult, AgentToolSchema
from rasa.shared.utils.datetime_utils import resolve_datetime, validate_datetime_configuration

from rasa_react_ext.engine import prompt, wording
from rasa_react_ext.host import arrival, process, system_prompt
from rasa_react_ext.host.chat import HostChatModel, chat_model
from rasa_react_ext.host.condition import slot_names
from rasa_react_ext.host.conduct import conduct
from rasa_react_ext.host.conversation import mocked_datetime
from rasa_react_ext.host.definition import (
    as_host_schema,
    set_slot_tool,
    task_completed_tool,
    tools_now,
)
from rasa_react_ext.host.exit_slot import fillable
from rasa_react_ext.host.mcp.settings import McpServerSettings, offers
from rasa_react_ext.host.older_hook import through_process_output
from rasa_react_ext.host.own_execution import execute_default
from rasa_react_ext.host.python_tool import as_tool
from rasa_react_ext.host.server import server_spec, server_tools
from rasa_react_ext.host.settings import AgentSettings

if TYPE_CHECKING:
    from datetime import datetime

    from rasa.agents.core.cancellation import CancellationToken
    from rasa.agents.schemas.agent_input import AgentInputSlot
    from rasa.core.available_agents import AgentConfig, AgentMCPServerConfig, ProtocolConfig
    from rasa.core.channels import OutputChannel

    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.mcp_pool import ServerSpec

__all__ = ["ReActAgent"]


class ReActAgent(MCPOpenAgent, MCPTaskAgent):
    """A ReAct sub agent: general-purpose, or task-specific when the step has `exit_if`.

    Built by the policy. A user's class that extends the host's agents is put in front
    of this one, so that its hooks win and `super()` reaches these.
    """

    def __init__(
        self,
        name: str,
        description: str,
        protocol_type: ProtocolConfig,
        server_configs: list[AgentMCPServerConfig],
        llm_config: dict[str, Any] | None = None,
        prompt_template: str | None = None,
        timeout: int | None = None,
        max_retries: int | None = None,
        include_date_time: bool | None = None,
        timezone: str | None = None,
        enable_filler_messages: bool | None = None,
        tool_timeout: float | None = None,
    ) -> None:
        super().__init__(
            name,
            description,
            protocol_type,
            server_configs,
            llm_config,
            prompt_template,
            timeout,
            max_retries,
            include_date_time,
            timezone,
            enable_filler_messages,
            tool_timeout,
        )
        self.settings = AgentSettings.model_validate({})
        self.slot_checks: Mapping[str, Callable[[Any], str | None]] = {}
        self.kind_protocol = ProtocolType.MCP_OPEN
        self.prompt_file = prompt_template
        self.turn_timeout = float(timeout) if timeout is not None else None
        self.process = process.current()
        self.python_tools = tuple(as_tool(custom) for custom in self._custom_tools)
        self._max_connect_retries = max_retries
        self._reach: Mapping[str, McpServerSettings] = {}
        self._model: HostChatModel | None = None
        self._model_client: object = None

    @classmethod
    def from_config(cls, config: AgentConfig) -> ReActAgent:
        """Build an agent from its config.yml.

        Raises:
            ValidationError: The time zone is no IANA name (documented host behaviour).
        """
        configuration = config.configuration
        given = configuration.model_dump() if configuration is not None else {}
        include = given.get("include_date_time")
        validate_datetime_configuration(
            True if include is None else include,
            given.get("timezone") or "UTC",
            given.get("timezone") is not None,
            f"agent '{config.agent.name}'",
            error_code="agent.configuration.invalid_timezone",
            agent_name=config.agent.name,
        )
        passed = (
            "prompt_template",
            "timeout",
            "max_retries",
            "include_date_time",
            "timezone",
            "enable_filler_messages",
            "tool_timeout",
        )
        return cls(
            name=config.agent.name,
            description=config.agent.description,
            protocol_type=config.agent.protocol,
            server_configs=(config.connections.mcp_servers or []) if config.connections else [],
            llm_config=given.get("llm"),
            **{key: given.get(key) for key in passed},
        )

    def configure(self, settings: AgentSettings, reach: Mapping[str, McpServerSettings]) -> None:
        """Take the settings, before the first use.

        Args:
            settings: Values that hold for this agent.
            reach: How servers are reached beyond what the host's list says, by name.

        Raises:
            ConfigurationError: A server is not there, or what is said of it is wrong.
        """
        self.settings = settings
        self._reach = reach
        self.specs = self._specs()

    def _specs(self) -> list[ServerSpec]:
        given = (self._name, self._max_connect_retries)
        reach = (self._reach.get(server.name, McpServerSettings()) for server in self.servers)
        return [
            server_spec(server, *given, way, offers(self.settings))
            for server, way in zip(self.servers, reach, strict=True)
        ]

    # What the agent is made of

    @cached_property
    def specs(self) -> list[ServerSpec]:
        """How the agent's servers are reached."""
        return self._specs()

    @cached_property
    def mcp_tools(self) -> ToolSource:
        """The tools of the agent's servers."""
        return server_tools(self.process, self.servers, self.specs, self._name)

    @property
    def name(self) -> str:
        """Name of the agent."""
        return self._name

    @property
    def servers(self) -> list[AgentMCPServerConfig]:
        """MCP servers of the agent."""
        return self._server_configs

    @property
    def fillers(self) -> bool:
        """Whether texts beside tool calls are wanted."""
        return self._enable_filler_messages

    @property
    def tool_timeout(self) -> float:
        """Seconds one tool call may take."""
        return self._tool_timeout

    @property
    def protocol_type(self) -> ProtocolType:
        """The protocol this instance is registered under."""
        return self.kind_protocol

    def executor(self, tool_name: str) -> Callable[..., Any]:
        """The function behind a Python tool."""
        return next(
            custom.tool_executor for custom in self._custom_tools if custom.tool_name == tool_name
        )

    def model(self) -> HostChatModel:
        """The chat model of `llm_client`, also after a user's code has replaced that."""
        if self._model is None or self._model_client is not self.llm_client:
            group = (self._llm_config or {}).get("id")
            self._model = chat_model(self.llm_client, name=str(group or self._name))
            self._model_client = self.llm_client
        return self._model

    async def close_own(self) -> None:
        """Give the model's connections back."""
        if self._model is not None:
            await self._model.aclose()

    # Lifetime

    def warm(self) -> None:
        """Start to connect to the agent's servers and read their tools, in the background."""
        self.process.warm(self)

    async def connect(self) -> None:
        """Connect; a server that is down is reported and tried again, never raised."""
        self.warm()
        await self.mcp_tools.tools()

    async def disconnect(self) -> None:
        """Give back what is shared; the last agent closes it. May be called twice."""
        await self.process.release(self)

    # A turn

    async def run(
        self,
        input: AgentInput,
        output_channel: OutputChannel | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AgentOutput:
        """Do one turn; the host's token stops it at once."""
        reset = arrival.token.set(cancellation_token)
        try:
            output = await self.send_message(input, output_channel)
            return await through_process_output(self, output)
        finally:
            arrival.token.reset(reset)

    async def run_async(
        self,
        input: AgentInput,
        output_channel: OutputChannel | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> AgentOutput:
        """The same as `run`; the host asks `is_async` first and never calls this."""
        return await self.run(input, output_channel, cancellation_token)

    async def send_message(
        self, agent_input: AgentInput, output_channel: OutputChannel | None = None
    ) -> AgentOutput:
        """Run the ReAct loop for one user message (documented hook)."""
        return await conduct(self, agent_input, output_channel)

    def structured_results(
        self, agent_input: AgentInput, results: dict[str, AgentToolResult]
    ) -> list[list[dict[str, Any]]]:
        """Results of this turn behind those of earlier turns, through the older host hook."""
        return self._get_structured_results_for_agent_output(agent_input, results)

    def _get_structured_results_for_agent_output(
        self, agent_input: AgentInput, current_tool_results: dict[str, AgentToolResult]
    ) -> list[list[dict[str, Any]]]:
        earlier = agent_input.metadata.get("structured_results") or []
        now = [
            {"name": result.tool_name, "result": result.result}
            for result in current_tool_results.values()
        ]
        return [*earlier, now]

    async def _execute_tool_call(
        self, tool_name: str, arguments: dict[str, Any], agent_input: AgentInput | None = None
    ) -> AgentToolResult:
        return await execute_default(tool_name, arguments)

    async def execute_through_hook(
        self, tool_name: str, arguments: dict[str, Any], agent_input: AgentInput
    ) -> AgentToolResult:
        """Run a tool through a subclass's own `_execute_tool_call`."""
        return await self._execute_tool_call(tool_name, arguments, agent_input)

    @property
    def executes_itself(self) -> bool:
        """Whether a subclass has its own `_execute_tool_call`."""
        return type(self)._execute_tool_call is not ReActAgent._execute_tool_call

    # Prompt and history hooks

    @property
    def prompt_varies(self) -> bool:
        """Whether a subclass asks for a new prompt at every step (older host hook)."""
        return (
            type(self)._build_system_prompt_cache_key
            is not MCPOpenAgent._build_system_prompt_cache_key
        )

    @staticmethod
    def get_default_prompt_template() -> str:
        """Our template for general-purpose agents."""
        return prompt.default_template("open")

    def render_prompt_template(self, context: AgentInput) -> str:
        """Render the prompt with the documented variables (documented hook)."""
        return system_prompt.rendered(self, context, self._build_context_for_prompt(context))

    def build_messages_for_llm_request(
        self, context: AgentInput, turns: int = 10
    ) -> list[dict[str, Any]]:
        """System prompt and the last `turns` utterances (documented hook)."""
        return system_prompt.messages(self, context, turns)

    def _get_current_datetime_for_prompt(self, context: AgentInput) -> datetime:
        return resolve_datetime(mocked_datetime(context.events), timezone=self._timezone)

    # Tool hooks

    @staticmethod
    def get_task_completed_tool() -> dict[str, Any]:
        """Definition of the tool that ends a general-purpose run (documented hook)."""
        return task_completed_tool()

    @staticmethod
    def get_system_message_for_empty_content_at_task_completion() -> dict[str, str]:
        """Instruction for the closing line that was missing (documented hook)."""
        return {"role": "system", "content": wording.completion_request()}

    @classmethod
    def get_slot_specific_set_slot_tool(cls, slot: AgentInputSlot) -> dict[str, Any]:
        """Definition of the tool that sets one slot (documented hook)."""
        return set_slot_tool(slot)

    @classmethod
    def _get_slot_names_from_exit_conditions(cls, agent_input: AgentInput) -> list[str]:
        present = {slot.name for slot in agent_input.slots}
        return [name for name in slot_names(_exit_if(agent_input)) if name in present]

    @classmethod
    def get_agent_specific_built_in_tools(cls, agent_input: AgentInput) -> list[AgentToolSchema]:
        """Built-in tools of this run: `set_slot_…` for a task, else `task_completed`."""
        return [as_host_schema(tool) for tool in cls.built_in_definitions(agent_input)]

    @classmethod
    def built_in_definitions(cls, agent_input: AgentInput) -> list[dict[str, Any]]:
        """The same as definitions, with schemas as the hooks gave them."""
        if not _exit_if(agent_input):
            return [cls.get_task_completed_tool()]
        names = cls._get_slot_names_from_exit_conditions(agent_input)
        slots = {slot.name: slot for slot in agent_input.slots}
        return [
            cls.get_slot_specific_set_slot_tool(slots[name])
            for name in names
            if fillable(slots[name].type, slots[name].mappings)
        ]

    def get_available_tools(self, agent_input: AgentInput) -> list[AgentToolSchema]:
        """Every tool of this run: MCP, built-in, Python (documented hook)."""
        tools = [as_host_schema(tool.definition()) for tool in tools_now.get()]
        return [*tools, *self.get_agent_specific_built_in_tools(agent_input)]

    @property
    def changes_tools(self) -> bool:
        """Whether a subclass changes the list of tools."""
        mine = (ReActAgent.get_available_tools, _function(ReActAgent))
        return (type(self).get_available_tools, _function(type(self))) != mine


def _function(agent_class: type[ReActAgent]) -> Any:
    return agent_class.get_agent_specific_built_in_tools.__func__


def _exit_if(agent_input: AgentInput) -> list[str]:
    return list(agent_input.metadata.get("exit_if") or ())
