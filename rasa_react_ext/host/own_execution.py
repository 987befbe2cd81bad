"""Tools that run through a user's own `_execute_tool_call` (older host hook)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rasa.agents.schemas import AgentToolResult

from rasa_react_ext.engine.tool import CallContext, Tool, ToolResult

if TYPE_CHECKING:
    from rasa.agents.schemas import AgentInput

    from rasa_react_ext.engine.port import ToolSource
    from rasa_react_ext.host.agent import ReActAgent

__all__ = ["OwnExecution", "execute_default"]

_call: ContextVar[tuple[ToolSource, Tool, CallContext] | None] = ContextVar(
    "rasa_react_ext_call", default=None
)


class OwnExecution:
    """Hands each call to the agent's hook; `super()` in it reaches the real source."""

    def __init__(self, source: ToolSource, agent: ReActAgent, agent_input: AgentInput) -> None:
        self._source = source
        self._agent = agent
        self._input = agent_input

    async def tools(self) -> Sequence[Tool]:
        """The tools of the source."""
        return await self._source.tools()

    def missing(self) -> Sequence[str]:
        """What is missing at the source."""
        return self._source.missing()

    async def call(
        self, tool: Tool, arguments: Mapping[str, Any], context: CallContext
    ) -> ToolResult:
        """Run the hook with the name the tool has at its origin."""
        reset = _call.set((self._source, tool, context))
        try:
            result = await self._agent.execute_through_hook(
                tool.origin_name or tool.name, dict(arguments), self._input
            )
        except Exception as error:  # noqa: BLE001 - the hook is users' code
            return ToolResult(text=f"{tool.name} failed: {error}", is_error=True)
        finally:
            _call.reset(reset)
        if result.is_error:
            return ToolResult(text=result.error_message or "The tool failed.", is_error=True)
        return ToolResult(text="(no result)" if result.result is None else result.result)


async def execute_default(tool_name: str, arguments: Mapping[str, Any]) -> AgentToolResult:
    """What `super()._execute_tool_call` does: the call that is under way, for real."""
    current = _call.get()
    if current is None:
        return AgentToolResult(
            tool_name=tool_name, is_error=True, error_message="No tool call is under way."
        )
    source, tool, context = current
    result = await source.call(tool, arguments, context)
    return AgentToolResult(
        tool_name=tool_name,
        result=None if result.is_error else result.text,
        is_error=result.is_error,
        error_message=result.text if result.is_error else None,
    )
