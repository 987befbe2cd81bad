"""Python tools of an agent class, as a tool source.

Source: the documented hooks `get_custom_tool_definitions` and
`build_custom_tool_call_metadata`, and the older forms that public projects use:
one-argument executors, `rasa_sdk` event dicts beside the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import structlog
from rasa.agents.schemas import AgentToolContext, AgentToolResult
from rasa.shared.agents.outbound_call_hook import (
    OutboundCallHookError,
    invoke_mcp_call_hook,
    merge_call_metadata,
)

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult
from rasa_react_ext.host.event import as_events

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput, CustomToolSchema
    from rasa.shared.core.events import Event

    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["PythonTools"]

_log = structlog.get_logger()


class PythonTools:
    """The tools that `get_custom_tool_definitions` returned, for one agent turn.

    Attributes:
        events: Events that executors returned beside their result, by call id; `review`
            of the turn takes them out.
    """

    def __init__(self, agent: ReActAgent, agent_input: AgentInput) -> None:
        self.events: dict[str, Sequence[Event]] = {}
        self._agent = agent
        self._input = agent_input
        self._tools = agent.python_tools

    async def tools(self) -> Sequence[Tool]:
        """The tools in the order of their definitions."""
        return self._tools

    def missing(self) -> Sequence[str]:
        """Python tools are never missing."""
        return ()

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Run the executor, a synchronous one in a thread."""
        executor = self._agent.executor(tool.name)
        try:
            metadata = await self._metadata(tool)
            returned = await _run(executor, dict(arguments), AgentToolContext(metadata=metadata))
        except OutboundCallHookError as error:
            cause = type(error.__cause__ or error).__name__  # its text may hold the secret
            return self._failed(tool, f"build_custom_tool_call_metadata failed ({cause}).")
        except Exception as error:  # noqa: BLE001 - executors are users' code
            return self._failed(tool, f"{type(error).__name__}: {error}")
        if isinstance(returned, tuple) and len(returned) == 2:
            returned, events = returned
            self.events[context.call_id] = as_events(events or (), self._input.id)
        return self._result(tool, returned)

    async def _metadata(self, tool: Tool) -> dict[str, Any]:
        context = self._agent.build_mcp_outbound_call_context_for_agent(self._input, tool.name)
        hooked = await invoke_mcp_call_hook(self._agent.build_custom_tool_call_metadata, context)
        return merge_call_metadata(self._input.metadata, hooked)

    def _result(self, tool: Tool, returned: Any) -> ToolResult:
        if not isinstance(returned, AgentToolResult):
            return self._failed(
                tool, f"it returned {type(returned).__name__} instead of AgentToolResult."
            )
        if returned.is_error:
            return ToolResult(text=returned.error_message or "The tool failed.", is_error=True)
        return ToolResult(text="(no result)" if returned.result is None else returned.result)

    def _failed(self, tool: Tool, problem: str) -> ToolResult:
        _log.warning(
            "rasa_react_ext.python_tool.failed",
            agent_name=self._input.id,
            tool_name=tool.name,
            event_info=f"Python tool {tool.name!r} of agent {self._input.id!r} failed: {problem}",
        )
        return ToolResult(text=f"Tool {tool.name!r} failed: {problem}", is_error=True)


async def _run(
    executor: Callable[..., Any], arguments: dict[str, Any], context: AgentToolContext
) -> Any:
    given = (arguments, context) if takes_context(executor) else (arguments,)
    if inspect.iscoroutinefunction(executor):
        return await executor(*given)
    returned = await anyio.to_thread.run_sync(lambda: executor(*given), abandon_on_cancel=True)
    return await returned if inspect.isawaitable(returned) else returned


def takes_context(executor: Callable[..., Any]) -> bool:
    """Whether an executor has a place for the context; older ones take arguments only."""
    try:
        parameters = inspect.signature(executor).parameters.values()
    except (TypeError, ValueError):
        return True
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    return len(positional) > 1 or any(
        parameter.kind is parameter.VAR_POSITIONAL for parameter in positional
    )


def as_tool(custom: CustomToolSchema) -> Tool:
    """A custom tool as the engine sees it."""
    definition = custom.tool_definition
    return Tool(
        name=definition.name,
        description=definition.description or "",
        parameters=definition.parameters or {"type": "object", "properties": {}},
        strict=bool(definition.strict),
    )
